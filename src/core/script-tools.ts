/** The built-in tool whose argument is an expression over results. */
export const COMPUTE = 'compute';

/** The built-in tool that runs a program. */
export const RUN_PROGRAM = 'run_program';

/** The internal tool that delegates a subtask of a feature. Only `volley tasks run` can run it. */
export const DELEGATE_TOOL = 'delegate_subtask';
