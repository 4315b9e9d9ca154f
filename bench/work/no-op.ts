/** The work of every contestant: none at all, but asynchronous. */
export const noOp = async (): Promise<void> => {};
