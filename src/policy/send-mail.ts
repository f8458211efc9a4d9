import * as fs from 'node:fs';
import * as os from 'node:os';
import { Readable } from 'node:stream';
import type SMTPConnection from 'nodemailer/lib/smtp-connection';
import { splitLine } from '../base/csv.ts';
import { Fault, reason, usage } from '../base/fault.ts';
import type { Config } from '../config/config.ts';
import { isLoopback } from '../trust/same-host.ts';
import { readSecret } from '../trust/token.ts';
import type { Message } from './ledger.ts';
import type { Sender } from './sender.ts';

/** Connecting, and each answer of the server. */
const PATIENCE_MS = 30_000;

/** A part before the @ that needs no quotes. */
const PLAIN_NAME = /^[\w.+-]{1,64}$/;
const ADDRESS = /^[^\s@<>,"]+@[^\s@<>,"]+$/;

/** Sends messages as mails. Throws a Fault where the configuration lacks something. */
export async function openMailer(config: Config): Promise<Sender> {
  const server = serverOf(config);
  const from = config['mail.from'];
  if (from === undefined) throw usage('who sends the mails of policies is not configured', 'set mail.from');
  const addresses = addressesOf(config);
  const ca = config['mail.ca'] === undefined ? undefined : readCertificates(config['mail.ca']);
  const [{ default: Connection }, { default: MailComposer }] = await Promise.all([
    import('nodemailer/lib/smtp-connection'),
    import('nodemailer/lib/mail-composer'),
  ]);
  return async (message) => {
    const to = recipients(message, config, addresses);
    if (to.length === 0) return { state: 'refused', error: whyNobody(message) };
    const mail = await new MailComposer({
      from,
      to,
      subject: message.subject,
      text: message.text,
      date: new Date(message.made / 1000),
      messageId: `<${message.id}>`,
      ...(config['mail.reply_to'] === undefined ? {} : { replyTo: config['mail.reply_to'] }),
      // no answering machine answers
      headers: { 'Auto-Submitted': 'auto-generated', 'X-Tacho-Policy': message.policy },
    })
      .compile()
      .build();
    const connection = new Connection({
      host: server.host,
      port: server.port,
      secure: server.secure,
      // no password goes over a network in the clear
      requireTLS: server.user !== undefined && !isLoopback(server.host),
      name: os.hostname(),
      connectionTimeout: PATIENCE_MS,
      greetingTimeout: PATIENCE_MS,
      socketTimeout: PATIENCE_MS,
      ...(ca === undefined ? {} : { tls: { ca } }),
    });
    return exchange(connection, server, { from, to }, mail);
  };
}

interface SmtpError extends Error {
  responseCode?: number;
  command?: string;
}

/** One mail over one connection: it is known at every moment whether the server may have taken it. */
async function exchange(
  connection: SMTPConnection,
  server: Server,
  envelope: { from: string; to: string[] },
  mail: Buffer,
): ReturnType<Sender> {
  let isOut = false;
  const body = Readable.from(
    (function* () {
      yield mail;
      // asked for more than all of it: what ends a mail follows
      isOut = true;
    })(),
  );
  try {
    await new Promise<void>((resolve, fail) => {
      connection.on('error', fail);
      const step = (next: () => void) => (error?: Error | null) => (error ? fail(error) : next());
      const send = (): void => connection.send({ ...envelope, from: bare(envelope.from) }, body, step(resolve));
      const { user, password } = server;
      connection.connect(
        step(() => {
          if (user === undefined) send();
          else connection.login({ user, pass: password ?? '' }, step(send));
        }),
      );
    });
    connection.quit();
    return { state: 'sent' };
  } catch (error) {
    connection.close();
    return outcomeOf(error as SmtpError, isOut);
  }
}

/** 'Tacho <tacho@site>' as servers want it. */
const bare = (address: string): string => /<([^>]*)>/.exec(address)?.[1] ?? address;

function outcomeOf(error: SmtpError, isOut: boolean): Awaited<ReturnType<Sender>> {
  const { responseCode: smtpStatus, command = '' } = error;
  const what = error.message.split('\n')[0]!;
  if (smtpStatus === undefined)
    return isOut ? { state: 'unsure', error: what } : { state: 'waiting', error: what, down: true };
  // a wrong password or sender is the configuration's fault, and can be mended
  const isFinal = smtpStatus >= 500 && (command === 'RCPT TO' || command === 'DATA');
  return { state: isFinal ? 'refused' : 'waiting', error: what };
}

interface Server {
  host: string;
  port: number;
  secure: boolean;
  user?: string;
  password?: string;
}

function serverOf(config: Config): Server {
  const given = config['mail.server'];
  if (given === undefined)
    throw usage(
      'the mail server that policies send through is not configured',
      'set mail.server, as smtp://mail.site:25',
    );
  const text = given.includes('://') ? given : `smtp://${given}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.hostname === '' || !/^smtps?:$/.test(url.protocol) || url.password !== '')
    throw usage(
      `${config.origins.get('mail.server') ?? '--mail-server'}: "${given.replace(/:[^:@/]*@/, ':…@')}" is no mail server`,
      'it looks like smtp://HOST:25 or smtps://USER@HOST:465; the password is in mail.password_file',
    );
  const secure = url.protocol === 'smtps:';
  const user = decodeURIComponent(url.username);
  const file = config['mail.password_file'];
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? (secure ? 465 : 25) : Number(url.port),
    secure,
    ...(user === '' ? {} : { user }),
    ...(file === undefined
      ? {}
      : { password: readSecret(file, 'the password for the mail server', 'set mail.password_file').trim() }),
  };
}

function readCertificates(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch (error) {
    throw new Fault(`cannot read mail.ca in ${file}: ${reason(error)}`);
  }
}

function addressesOf(config: Config): Map<string, string> {
  const file = config['mail.addresses'];
  if (file === undefined) return new Map();
  let text: string;
  try {
    text = fs.readFileSync(file, 'utf8');
  } catch (error) {
    throw new Fault(`cannot read mail.addresses in ${file}: ${reason(error)}`);
  }
  const lines = text.split(/\r?\n/).map((line, i) => ({ line, number: i + 1 }));
  return new Map(
    lines.flatMap(({ line, number }): [string, string][] => {
      const [user = '', address = ''] = splitLine(line).map((cell) => cell.trim());
      if (line.trim() === '' || line.startsWith('#') || (user === 'user' && address === 'address')) return [];
      if (!ADDRESS.test(address))
        throw usage(`${file}:${number}: "${address}" is no address`, 'each line is user,address');
      return [[user, address]];
    }),
  );
}

function recipients(message: Message, config: Config, addresses: ReadonlyMap<string, string>): string[] {
  const domain = config['mail.domain'];
  const usual = domain !== undefined && PLAIN_NAME.test(message.user) ? `${message.user}@${domain}` : undefined;
  const own = addresses.get(message.user) ?? usual;
  return [
    ...(message.to !== 'administrators' && own !== undefined ? [own] : []),
    ...(message.to === 'user' ? [] : config['mail.administrators']),
  ];
}

const whyNobody = ({ to, user }: Message): string =>
  to === 'administrators'
    ? 'nobody is named in mail.administrators'
    : `the address of ${user} is not known: set mail.domain or mail.addresses`;
