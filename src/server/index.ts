/**
 * The HTTP API and the dashboard as a library. Programs that run no server load nothing of it.
 *
 * @module volley/server
 */
export type { HubOptions } from './events/event-hub.ts';
export { type Log, type LogLevel, type LogOptions, openLog } from './log/log.ts';
export { type ServerOptions, startServer, VolleyServer } from './server.ts';
