/** The answer of `batch_executor_tool`: `text` for models, and the same as `data` for programs. */
export interface BatchAnswer {
  readonly ok: boolean;
  /** The requested action, as far as it could be read. */
  readonly action: string;
  /** A few lines, bounded. */
  readonly text: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly error?: BatchAnswerError;
}

/** Why a request failed. */
export interface BatchAnswerError {
  /** A code of `docs/errors.md`. */
  readonly code: string;
  readonly message: string;
}

/** What a successful action returns. */
export interface ActionResult {
  readonly text: string;
  readonly data: Readonly<Record<string, unknown>>;
}
