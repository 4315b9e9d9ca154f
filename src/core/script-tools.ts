/** The built-in tool whose argument is an expression over results. */
export const COMPUTE = 'compute';

/** The built-in tool that runs a program. */
export const RUN_PROGRAM = 'run_program';
