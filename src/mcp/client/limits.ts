/** The longest message that is read, in bytes: more ends the connection. */
export const MAX_MESSAGE_BYTES = 2 ** 24;
/** The limit for the pictures, sound and files of a result together. */
export const MAX_BINARY_BYTES = 2 ** 23;
/** The maximum number of tools of one server. */
export const MAX_TOOLS = 2000;
/** So much of what a server says of a tool is shown. */
export const MAX_DESCRIPTION_LENGTH = 4096;
