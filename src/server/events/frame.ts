/** An event as it goes over the wire. JSON has no line breaks of its own, so the data is one line. */
export function frameOf(type: string, body: unknown, id?: string): string {
  const name = id === undefined ? '' : `id: ${id}\n`;
  return `${name}event: ${type}\ndata: ${JSON.stringify(body)}\n\n`;
}
