import { parentPort } from 'node:worker_threads';
import type { SchemaAnswer, SchemaRequest } from './schema-threads.ts';
import { compileValidator, type Validate } from './schema-validator.ts';

const port = parentPort!;
const known = new Map<number, Validate>();

/** Answers for each value which rules of its schema it breaks. */
port.on('message', (request: SchemaRequest) => port.postMessage(answerTo(request)));
port.postMessage('ready' satisfies SchemaAnswer);

function answerTo({ key, schema, value }: SchemaRequest): SchemaAnswer {
  let validate = known.get(key);
  try {
    // A schema that could not be compiled comes with no later request: it stays what it is.
    validate ??= compileValidator(JSON.parse(schema!), {});
  } catch (error) {
    const { message } = error as Error;
    known.set(key, () => {
      throw new InvalidSchema(message);
    });
    return { invalid: message };
  }
  known.set(key, validate);
  try {
    return { issues: validate(JSON.parse(value)) };
  } catch (error) {
    if (error instanceof InvalidSchema) return { invalid: error.message };
    return { failed: (error as Error).message };
  }
}

class InvalidSchema extends Error {}
