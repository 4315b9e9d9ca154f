/**
 * The built-in tools.
 *
 * @module volley/tools
 */
export { type BuiltinToolOptions, builtinTools } from './all.ts';
