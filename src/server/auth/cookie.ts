/**
 * The cookie of a session. Cookies know no ports, so its name has the port of the server: two servers on one machine
 * do not sign each other's browsers out.
 */
export class SessionCookie {
  private readonly name: string;

  constructor(
    port: number,
    private readonly isSecure: boolean,
  ) {
    this.name = isSecure ? `__Host-volley_${port}` : `volley_${port}`;
  }

  /** The secret that a request carries. */
  read(header: string | undefined): string | undefined {
    if (header === undefined) return undefined;
    for (const pair of header.split(';')) {
      const at = pair.indexOf('=');
      if (at > 0 && pair.slice(0, at).trim() === this.name) return pair.slice(at + 1).trim();
    }
    return undefined;
  }

  /** The header that gives it to the browser, for so long. */
  set(secret: string, maxAgeMs: number): string {
    return this.text(secret, Math.max(0, Math.floor(maxAgeMs / 1000)));
  }

  /** The header that takes it back. */
  clear(): string {
    return this.text('', 0);
  }

  private text(value: string, maxAge: number): string {
    const secure = this.isSecure ? '; Secure' : '';
    return `${this.name}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${maxAge}${secure}`;
  }
}
