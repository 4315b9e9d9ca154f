import { isObject } from '../../../../src/core/values.ts';
/** A task as it is filled in. */
export interface TaskDraft {
  readonly function: string;
  /** JSON text: a form changes it, too. */
  readonly params: string;
  readonly name: string;
  readonly priority: string;
  readonly retries: string;
  readonly timeout: string;
}

export const EMPTY_TASK: TaskDraft = {
  function: '',
  params: '{}',
  name: '',
  priority: '',
  retries: '',
  timeout: '',
};

/** The task that the form means; throws what is wrong with it. */
export function taskOf(draft: TaskDraft): object {
  if (draft.function === '') throw new Error('Choose a function.');
  return {
    function: draft.function,
    params: paramsIn(draft.params),
    ...(draft.name.trim() !== '' && { name: draft.name.trim() }),
    ...(draft.priority !== '' && { priority: draft.priority }),
    ...(draft.retries !== '' && { max_retries: Number(draft.retries) }),
    ...(draft.timeout !== '' && { timeout: Number(draft.timeout) }),
  };
}

/** The arguments; throws what is wrong with them. */
export function paramsIn(text: string): object {
  let value: unknown;
  try {
    value = JSON.parse(text.trim() === '' ? '{}' : text);
  } catch (error) {
    throw new Error(`The arguments are no JSON: ${error instanceof Error ? error.message : error}`);
  }
  if (!isObject(value)) {
    throw new Error('The arguments must be an object, such as {"path": "a.txt"}.');
  }
  return value;
}
