/** A server that answers `path`, and what must be sent with the request. */
export interface HttpServer {
  readonly port: number;
  readonly path: string;
  readonly token: string | undefined;
  close(): Promise<void>;
}
