import type { CallResult } from './call.ts';

type Next = IteratorResult<CallResult, void>;

interface Reader {
  resolve(next: Next | Promise<Next>): void;
}

/** Runs calls and gives each result away when it comes, until `stop` is aborted. */
export type ResultSource = (give: (result: CallResult) => void, stop: AbortSignal) => Promise<void>;

/**
 * Results as they come. It begins with the first `next()`. Unlike a generator's, its `return()` is heard while a
 * `next()` is open: both are answered at once, and running calls are cancelled.
 */
export class ResultStream implements AsyncGenerator<CallResult, void, undefined> {
  private readonly arrived: CallResult[] = [];
  private readonly readers: Reader[] = [];
  private readonly controller = new AbortController();
  private source: ResultSource | undefined;
  private isOver = false;
  /** Why it could not begin: for the first who asks. */
  private problem: { readonly error: unknown } | undefined;

  constructor(source: ResultSource) {
    this.source = source;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Next> {
    this.begin();
    return new Promise((resolve) => {
      this.readers.push({ resolve });
      this.serve();
    });
  }

  async return(): Promise<Next> {
    this.source = undefined;
    this.isOver = true;
    this.arrived.length = 0;
    this.problem = undefined;
    this.controller.abort('the results are no longer read');
    this.serve();
    return { done: true, value: undefined };
  }

  async throw(error: unknown): Promise<Next> {
    await this.return();
    throw error;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  private begin(): void {
    const { source } = this;
    if (source === undefined) return;
    this.source = undefined;
    const give = (result: CallResult) => {
      if (this.isOver) return;
      this.arrived.push(result);
      this.serve();
    };
    source(give, this.controller.signal).then(
      () => this.over(undefined),
      (error) => this.over({ error }),
    );
  }

  private over(problem: { readonly error: unknown } | undefined): void {
    if (this.isOver) return;
    this.isOver = true;
    this.problem = problem;
    this.serve();
  }

  /** Answers those who asked, in their order, as far as there are answers. */
  private serve(): void {
    while (this.readers.length > 0) {
      const answer = this.answer();
      if (answer === undefined) return;
      this.readers.shift()!.resolve(answer);
    }
  }

  private answer(): Next | Promise<Next> | undefined {
    const value = this.arrived.shift();
    if (value !== undefined) return { done: false, value };
    if (!this.isOver) return undefined;
    const { problem } = this;
    this.problem = undefined;
    return problem === undefined ? { done: true, value: undefined } : Promise.reject(problem.error);
  }
}
