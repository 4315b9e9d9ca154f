/** What `batch_executor_tool` answers: the same for a model, as `text`, and for a program, as `data`. */
export interface BatchAnswer {
  readonly ok: boolean;
  /** What was asked for, as far as that could be read. */
  readonly action: string;
  /** A few lines, bounded. */
  readonly text: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly error?: BatchAnswerError;
}

/** Why a request could not be done. */
export interface BatchAnswerError {
  /** One of `docs/errors.md`. */
  readonly code: string;
  readonly message: string;
}

/** What an action gives back when it could be done. */
export interface ActionResult {
  readonly text: string;
  readonly data: Readonly<Record<string, unknown>>;
}
