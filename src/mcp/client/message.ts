import { type JSONRPCMessage, ProtocolErrorCode, parseJSONRPCMessage } from '@modelcontextprotocol/client';

/**
 * What a line says; undefined where it is no message, for programs print all sorts of things. An answer that is none is
 * one that says so: the call that it is for would wait for ever.
 */
export function messageOf(line: string): JSONRPCMessage | undefined {
  if (!/^\s*\{/.test(line)) return undefined;
  let value: { readonly id?: unknown; readonly method?: unknown };
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  try {
    return parseJSONRPCMessage(value);
  } catch {
    const { id, method } = value;
    if (method !== undefined || (typeof id !== 'number' && typeof id !== 'string')) return undefined;
    const error = { code: ProtocolErrorCode.ParseError, message: 'it is no answer of JSON-RPC 2.0' };
    return { jsonrpc: '2.0', id, error };
  }
}
