import type { FastifyReply, FastifyRequest } from 'fastify';

/** The value of a cookie that a browser sent. */
export const cookieOf = ({ headers }: FastifyRequest, name: string): string | undefined =>
  new RegExp(`(?:^|; *)${name}=([^;]*)`).exec(headers.cookie ?? '')?.[1];

export interface CookieOptions {
  /** Strict: also links from other pages come without it. */
  sameSite: 'Strict' | 'Lax';
  /** Only over https. */
  isSecure?: boolean;
  seconds?: number;
  /** Below this path alone. */
  base?: string;
}

/** Scripts cannot read it, and other sites cannot send it with anything but a plain link. */
export function setCookie(reply: FastifyReply, name: string, value: string, options: CookieOptions): void {
  const { sameSite, isSecure = false, seconds, base = '' } = options;
  const rest = [
    `SameSite=${sameSite}`,
    `Path=${base === '' ? '/' : base}`,
    ...(isSecure ? ['Secure'] : []),
    ...(seconds === undefined ? [] : [`Max-Age=${seconds}`]),
  ];
  reply.header('set-cookie', `${name}=${value}; HttpOnly; ${rest.join('; ')}`);
}
