/** The name of the built-in tool whose argument is an expression over results. */
export const COMPUTE = 'compute';
