/**
 * The server as a library, under `volley/server`: apart from the rest, so that who runs no server loads nothing of it.
 *
 * @module server
 */
export type { HubOptions } from './events/event-hub.ts';
export { type Log, type LogLevel, type LogOptions, openLog } from './log/log.ts';
export { type ServerOptions, startServer, VolleyServer } from './server.ts';
