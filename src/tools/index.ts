/**
 * The built-in tools, under `volley/tools`.
 *
 * @module
 */
export { type BuiltinToolOptions, builtinTools } from './builtin/all.ts';
