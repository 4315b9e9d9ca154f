import { describe, expect, it } from 'vitest';
import { type HttpMessage, redirected } from '../../../../src/tools/builtin/http-redirects.ts';

function message(changes: Partial<Omit<HttpMessage, 'url'>> & { url?: string } = {}): HttpMessage {
  const { url = 'https://a.example/one', ...others } = changes;
  return { url: new URL(url), method: 'GET', headers: {}, body: undefined, ...others };
}

describe('a redirect', () => {
  it.each([
    [301, 'POST', 'GET'],
    [302, 'POST', 'GET'],
    [303, 'POST', 'GET'],
    [307, 'POST', 'POST'],
    [308, 'POST', 'POST'],
    [301, 'PUT', 'PUT'],
    [303, 'DELETE', 'GET'],
    [303, 'HEAD', 'HEAD'],
    [302, 'HEAD', 'HEAD'],
  ])('with status %i turns %s into %s', (status, method, expected) => {
    const headers = { 'Content-Type': 'text/plain', accept: '*/*' };
    const next = redirected(message({ method, headers, body: 'x' }), status, '/two')!;
    expect([next.url.href, next.method]).toEqual(['https://a.example/two', expected]);
    const isKept = method === expected;
    expect([next.body, next.headers]).toEqual(isKept ? ['x', headers] : [undefined, { accept: '*/*' }]);
  });

  it('is none with another status or without a place', () => {
    expect(redirected(message(), 200, '/two')).toBeUndefined();
    expect(redirected(message(), 304, '/two')).toBeUndefined();
    expect(redirected(message(), 302, undefined)).toBeUndefined();
  });

  it.each(['https://b.example/', 'https://a.example:8443/', '//b.example/'])(
    'to the other origin %s takes no secrets along',
    (location) => {
      const headers = { Authorization: 'Bearer x', Cookie: 'a=b', 'X-Api-Key': 'k', Accept: 'text/html' };
      expect(redirected(message({ headers }), 302, location)!.headers).toEqual({ Accept: 'text/html' });
      expect(redirected(message({ headers }), 302, '/same')!.headers).toEqual(headers);
    },
  );

  it.each([
    ['http://a.example/', 'is not encrypted'],
    ['file:///etc/passwd', 'must begin with http'],
    ['javascript:alert(1)', 'must begin with http'],
    ['https://user:secret@b.example/', 'must not contain a user name'],
    ['https://', 'is not a URL'],
  ])('to %s is refused', (location, problem) => {
    expect(() => redirected(message(), 302, location)).toThrow(problem);
    expect(() => redirected(message(), 302, location)).toThrow(
      expect.objectContaining({ code: 'REQUEST_FAILED', retryable: false }),
    );
  });

  it('from http to https is fine', () => {
    expect(redirected(message({ url: 'http://a.example/' }), 301, 'https://a.example/')!.url.protocol).toBe(
      'https:',
    );
  });
});
