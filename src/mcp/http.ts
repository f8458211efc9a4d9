import { createServer } from 'node:http';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { RuleSettings } from '../judge/rules/shared/settings.ts';
import { isSameSecret } from '../trust/token.ts';
import { makeMcpServer } from './server.ts';

export interface McpOverHttp {
  url: string;
  close(): Promise<void>;
}

/** The same over HTTP, on this machine alone, for who has the token. Every question stands for itself. */
export async function serveMcp(
  folders: readonly string[],
  port: number,
  token: string,
  rules?: RuleSettings,
): Promise<McpOverHttp> {
  const server = createServer(async (request, response) => {
    const given = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    if (!isSameSecret(given, token))
      return void response.writeHead(401).end('a token is needed: Authorization: Bearer TOKEN\n');
    if (new URL(request.url ?? '/', 'http://localhost').pathname !== '/mcp') return void response.writeHead(404).end();
    const mcp = makeMcpServer(folders, rules);
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
    response.on('close', () => void mcp.close());
    await mcp.connect(transport as never);
    await transport.handleRequest(request, response);
    return undefined;
  });
  await new Promise<void>((done, failed) => server.once('error', failed).listen(port, '127.0.0.1', done));
  const { port: taken } = server.address() as { port: number };
  const close = (): Promise<void> =>
    new Promise((done) => {
      server.close(() => done());
      server.closeAllConnections();
    });
  return { url: `http://127.0.0.1:${taken}/mcp`, close };
}
