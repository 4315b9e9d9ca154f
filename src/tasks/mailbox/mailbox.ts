import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { VolleyError } from '../../core/errors.ts';
import { reasonText } from '../../core/words.ts';
import { readPlain } from '../files/read-plain.ts';
import { type AgentRequest, MAILBOX_VARIABLE, type RunAnswer, TOKEN_VARIABLE, verified } from './message.ts';

/** Does what an agent asks for; throws where it is refused. */
type Handler = (request: AgentRequest) => Promise<{ data: Readonly<Record<string, unknown>>; text: string }>;

const PAUSE_MS = 50;
const LIMITS = { maxBytes: 256 * 1024, followLinks: false };
const MAX_REQUESTS = 1000;
const REQUEST = /^([0-9a-f]{16})\.request$/;

/**
 * A folder in which the agent of one attempt leaves requests and finds the answers. Files work in every sandbox that
 * agents have; sockets do not. What stands in it is the agent's, and is believed only with the token of the attempt.
 */
export class Mailbox {
  private readonly token = randomBytes(32).toString('hex');
  private readonly seen = new Set<string>();
  private work: Promise<void> = Promise.resolve();
  private timer: NodeJS.Timeout | undefined;
  private isClosed = false;

  private constructor(
    private readonly scratch: string,
    readonly folder: string,
    private readonly handle: Handler,
  ) {}

  static async open(scratch: string, handle: Handler): Promise<Mailbox> {
    const mailbox = new Mailbox(scratch, await mkdtemp(join(scratch, 'mailbox-')), handle);
    mailbox.next();
    return mailbox;
  }

  /** The environment variables that tell the agent where the mailbox is. */
  get env(): Record<string, string> {
    return { [MAILBOX_VARIABLE]: this.folder, [TOKEN_VARIABLE]: this.token };
  }

  /** Takes no more requests, and waits for the one that is being handled. */
  async close(): Promise<void> {
    this.isClosed = true;
    clearTimeout(this.timer);
    await this.work;
    await rm(this.folder, { recursive: true, force: true }).catch(() => undefined);
  }

  private next(): void {
    this.timer = setTimeout(() => {
      this.work = this.look()
        // The agent may have removed the folder: then it gets no answer.
        .catch(() => undefined)
        .then(() => {
          if (!this.isClosed) this.next();
        });
    }, PAUSE_MS);
    this.timer.unref();
  }

  private async look(): Promise<void> {
    const names = await readdir(this.folder).catch(() => []);
    for (const name of names) {
      const [, id] = REQUEST.exec(name) ?? [];
      if (id === undefined || this.seen.has(id) || this.seen.size >= MAX_REQUESTS || this.isClosed) continue;
      this.seen.add(id);
      const answer = await this.answer(id, join(this.folder, name));
      const draft = join(this.scratch, `${id}.draft`);
      await writeFile(draft, JSON.stringify(answer));
      // A link that the agent may have put there is replaced, not followed.
      await rename(draft, join(this.folder, `${id}.answer`)).catch(() => rm(draft, { force: true }));
    }
  }

  private async answer(id: string, path: string): Promise<RunAnswer> {
    try {
      const request = verified(this.token, id, await readPlain(path, LIMITS));
      if (request === undefined)
        throw new VolleyError('SUBTASK_REFUSED', 'The request is not signed with the token of this attempt.');
      return { ok: true, ...(await this.handle(request)) };
    } catch (error) {
      const { code, details } =
        error instanceof VolleyError ? error : { code: 'SUBTASK_REFUSED', details: {} };
      return { ok: false, code, message: reasonText(error), details };
    }
  }
}
