import { parentPort } from 'node:worker_threads';
import type { SchemaAnswer, SchemaRequest } from './schema-threads.ts';
import { compileValidator, type Validate } from './schema-validator.ts';

const port = parentPort!;
const known = new Map<number, Validate>();

/** Responds to each value with the schema rules it violates. */
port.on('message', (request: SchemaRequest) => port.postMessage(answerTo(request)));
port.postMessage('ready' satisfies SchemaAnswer);

function answerTo({ key, schema, value }: SchemaRequest): SchemaAnswer {
  let validate = known.get(key);
  try {
    // An invalid schema is not sent again, because it stays invalid.
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
