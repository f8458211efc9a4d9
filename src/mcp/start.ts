import { randomBytes } from 'node:crypto';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { RuleSettings } from '../judge/rules/shared/settings.ts';
import { serveMcp } from './http.ts';
import { makeMcpServer } from './server.ts';

/** Over standard input and output until that ends, or over HTTP until a signal comes. */
export async function talkMcp(
  folders: readonly string[],
  http: { port: number; isJson: boolean } | undefined,
  rules?: RuleSettings,
): Promise<void> {
  if (http === undefined) {
    const server = makeMcpServer(folders, rules);
    await server.connect(new StdioServerTransport());
    process.stdin.once('end', () => void server.close());
    return;
  }
  const token = randomBytes(24).toString('base64url');
  const { url, close } = await serveMcp(folders, http.port, token, rules);
  process.stdout.write(
    http.isJson ? `${JSON.stringify({ url, token })}\n` : `${url}\nAuthorization: Bearer ${token}\n`,
  );
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void close().then(() => process.exit(0)));
}
