/** Work that is done one at a time. Requests while it runs share the next run, which sees everything before them. */
export class Coalesced<T> {
  private running: Promise<T> | undefined;
  private next: Promise<T> | undefined;

  constructor(private readonly work: () => Promise<T>) {}

  request(): Promise<T> {
    if (this.running === undefined) return this.start();
    this.next ??= this.running.then(
      () => this.start(),
      () => this.start(),
    );
    return this.next;
  }

  private start(): Promise<T> {
    this.next = undefined;
    this.running = this.work().finally(() => {
      this.running = undefined;
    });
    return this.running;
  }
}
