import { afterAll, beforeAll, describe, test } from 'vitest';
import { CONTAINS, type Fault, type RunnerKind } from '../../../src/runners/containment.ts';
import { BEHAVIOUR } from './behaviour.ts';
import { FAULTS } from './faults.ts';
import { Rig, type RunnerUnderTest } from './rig.ts';

/** What every runner does, and exactly those faults that its column in the table of containment has. */
export function describeRunner(kind: RunnerKind, open: () => Promise<RunnerUnderTest>): void {
  describe(`the ${kind} runner`, () => {
    let opened: RunnerUnderTest;

    beforeAll(async () => {
      opened = await open();
    }, 180_000);

    afterAll(async () => {
      await opened.close();
    });

    for (const [name, behave] of Object.entries(BEHAVIOUR)) {
      test(name, async () => {
        const rig = new Rig(opened);
        await behave(rig);
        await rig.expectUnharmed();
      });
    }

    for (const [fault, { fault: what, containedBy }] of Object.entries(CONTAINS)) {
      if (!(containedBy as readonly RunnerKind[]).includes(kind)) continue;
      test(`contains a tool that ${what}`, async () => {
        const rig = new Rig(opened);
        await FAULTS[fault as Fault](rig);
        await rig.expectUnharmed();
      });
    }
  });
}
