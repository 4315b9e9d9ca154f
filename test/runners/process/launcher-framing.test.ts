import fc from 'fast-check';
import { expect, test } from 'vitest';
import { encodeHelperFrame, HelperFrameReader } from '../../../src/runners/process/helper.ts';

test('frames come out as they went in, wherever the bytes between are cut', () => {
  const frames = fc.array(fc.tuple(fc.nat(), fc.uint8Array({ maxLength: 50 })), { maxLength: 10 });
  fc.assert(
    fc.property(frames, fc.infiniteStream(fc.integer({ min: 1, max: 40 })), (sent, cuts) => {
      const bytes = Buffer.concat(
        sent.map(([id, payload]) => encodeHelperFrame(id, 'W', Buffer.from(payload))),
      );
      const received: [number, Uint8Array][] = [];
      const reader = new HelperFrameReader((id, _, payload) => received.push([id, new Uint8Array(payload)]));
      for (let at = 0; at < bytes.length; ) {
        const cut = cuts.next().value as number;
        reader.push(bytes.subarray(at, at + cut));
        at += cut;
      }
      expect(received).toEqual(sent.map(([id, payload]) => [id, new Uint8Array(payload)]));
    }),
  );
});
