import { runCommandLine } from './command-line.ts';

/** The command line from its sources. The built package has `start.ts` in its place. */
await runCommandLine();
