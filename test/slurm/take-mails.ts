import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';

/** A real SMTP server on this machine's loopback: prints its port, then each mail as a line of JSON. Ends with its input. */
const server = new SMTPServer({
  authOptional: true,
  disabledCommands: ['STARTTLS'],
  onData(stream, session, done) {
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => {
      const to = session.envelope.rcptTo.map(({ address }) => address);
      process.stdout.write(`${JSON.stringify({ to, text: Buffer.concat(chunks).toString('utf8') })}\n`);
      done();
    });
  },
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.server.address() as AddressInfo).port}\n`));
process.stdin.resume().on('end', () => process.exit(0));
