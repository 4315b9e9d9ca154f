import { describe, expect, it } from 'vitest';
import { VolleyError } from '../../src/core/errors.ts';
import { OutageError, RateLimitedError, ToolFailure } from '../../src/engine/tool-failure.ts';
import { fromWireError, toWireError, type WireError } from '../../src/runners/wire-error.ts';

/** There and back, by way of JSON, the narrowest way there is. */
function crossed(thrown: unknown): unknown {
  return fromWireError(JSON.parse(JSON.stringify(toWireError(thrown))) as WireError);
}

describe('an error that crosses a boundary', () => {
  it('stays a VolleyError with its code and details', () => {
    const error = new VolleyError('REQUEST_FAILED', 'refused', { url: 'x', nested: [1] });
    const copy = crossed(error) as VolleyError;
    expect(copy).toBeInstanceOf(VolleyError);
    expect({ ...copy }).toEqual({ ...error });
    expect(copy.message).toBe('refused');
    expect(copy.stack).toBe(error.stack);
  });

  it('stays a ToolFailure with its reason, and tells whether to try again', () => {
    for (const retryable of [true, false]) {
      const copy = crossed(new ToolFailure('too much', { reason: 'memory', retryable }));
      expect(copy).toBeInstanceOf(ToolFailure);
      expect(copy).toMatchObject({ message: 'too much', reason: 'memory', retryable });
    }
  });

  it('stays a RateLimitedError or an OutageError with what it says, also under another name', () => {
    class MyLimit extends RateLimitedError {
      override name = 'MyLimit';
    }
    const limit = { retryAfterMs: 5000, resetAt: 1_749_924_000_000, scope: 'host:a' };
    for (const error of [new RateLimitedError('slow down', limit), new MyLimit('slow down', limit)]) {
      const copy = crossed(error);
      expect(copy).toBeInstanceOf(RateLimitedError);
      expect(copy).toMatchObject({ name: error.name, message: 'slow down', limit, retryable: true });
    }
    const copy = crossed(new OutageError('bad key', { kind: 'auth', scope: 'host:a' }));
    expect(copy).toBeInstanceOf(OutageError);
    expect(copy).toMatchObject({ outage: { kind: 'auth', scope: 'host:a' }, retryable: false });
  });

  it('keeps only what can be used of a limit, and takes no other error for one', () => {
    const odd = {
      name: 'RateLimitedError',
      message: 'm',
      limit: { retryAfterMs: -1, resetAt: 'x', scope: '' },
    };
    expect(fromWireError(odd as unknown as WireError)).toMatchObject({ limit: {} });
    const other = Object.assign(new Error('m'), { limit: { retryAfterMs: 1 }, outage: { kind: 'auth' } });
    expect(crossed(other)).not.toBeInstanceOf(ToolFailure);
    const unknown = { name: 'OutageError', message: 'm', outage: { kind: 'toString' } };
    expect(fromWireError(unknown as unknown as WireError)).not.toBeInstanceOf(ToolFailure);
  });

  it('stays one of the built-in kinds, and otherwise keeps its name', () => {
    expect(crossed(new TypeError('x'))).toBeInstanceOf(TypeError);
    class CustomError extends Error {
      override name = 'CustomError';
    }
    const copy = crossed(new CustomError('mine')) as Error;
    expect(String(copy)).toBe('CustomError: mine');
    expect(Object.keys(copy)).toEqual([]);
    expect(String(crossed(new DOMException('too slow', 'TimeoutError')))).toBe('TimeoutError: too slow');
  });

  it('keeps the code that Node gives, and that trying again is pointless', () => {
    const permanent = Object.assign(new Error('gone'), { retryable: false });
    expect(crossed(permanent)).toMatchObject({ message: 'gone', retryable: false });
    expect(crossed(Object.assign(new Error('no file'), { code: 'ENOENT' }))).toMatchObject({
      code: 'ENOENT',
    });
  });

  it('keeps its causes, up to a limit, even if they go round in a circle', () => {
    const copy = crossed(
      new Error('outer', { cause: new RangeError('inner', { cause: 'a text' }) }),
    ) as Error;
    expect(copy.cause).toBeInstanceOf(RangeError);
    expect((copy.cause as Error).cause).toBe('a text');

    const circle = new Error('round');
    circle.cause = circle;
    let depth = 0;
    for (let error = crossed(circle) as Error; error.cause !== undefined; error = error.cause as Error)
      depth++;
    expect(depth).toBe(5);
  });

  it('is limited in size', () => {
    const error = new VolleyError('INTERNAL', 'x'.repeat(1e6), { large: 'y'.repeat(1e6) });
    expect(JSON.stringify(toWireError(error)).length).toBeLessThan(60_000);
    expect(crossed(error)).toMatchObject({ code: 'INTERNAL', details: {} });
  });

  it('may be no error at all: simple values stay, others are described', () => {
    for (const value of ['a text', 0, false, null]) expect(crossed(value)).toBe(value);
    expect(crossed(undefined)).toMatchObject({ message: 'The tool threw undefined' });
    expect(crossed({ status: 404 })).toMatchObject({ message: expect.stringContaining('{"status":404}') });
    expect(crossed(Symbol('s'))).toMatchObject({ message: 'The tool threw Symbol(s)' });
  });

  it('cannot do harm by being strange', () => {
    const hostile = new Proxy(
      {},
      {
        get() {
          throw new Error('hands off');
        },
      },
    );
    expect(crossed(hostile)).toBeInstanceOf(Error);
    expect(crossed(Object.assign(new Error('x'), { details: { big: 1n } }))).toMatchObject({ message: 'x' });
  });

  it('is not believed: what is not of the right form becomes a plain error', () => {
    const forged = [
      { name: 'VolleyError', message: 'm', code: 'NO_SUCH_CODE' },
      { name: 'VolleyError', message: 'm', code: 'toString' },
      { name: 'ToolFailure', message: 'm', reason: 'constructor' },
      { name: 7, message: 'm', stack: {}, code: [] },
      { name: 'Error', message: 'm', value: { status: 'completed' } },
      { name: 'Error', message: 'm', value: ['a'] },
    ];
    for (const wire of forged) {
      const error = fromWireError(wire as unknown as WireError) as Error;
      expect(Object.getPrototypeOf(error)).toBe(Error.prototype);
      expect(error.message).toBe('m');
    }
    for (const wire of [undefined, null, 3, 'text'])
      expect(fromWireError(wire as unknown as WireError)).toBeInstanceOf(Error);
  });
});
