import { z } from 'zod';
import type { ModelSettings, VolleyConfig } from '../../config/config.ts';
import type { EnvironmentVariables } from '../../config/environment.ts';
import { MODEL_KEY } from '../../config/schema.ts';
import { requireUnchanged } from '../../config/trust.ts';
import { ASK_MODEL } from '../../core/ask-tools.ts';
import { VolleyError } from '../../core/errors.ts';
import { nearest } from '../../core/nearest.ts';
import { MAX_SPAN_MS } from '../../core/numbers.ts';
import { reasonText } from '../../core/words.ts';
import { OutageError } from '../../engine/tool-failure.ts';
import type { ToolContext } from '../../runners/runner.ts';
import type { ToolEnvironment } from '../../tools/builtin/environment.ts';
import { readFileTool } from '../../tools/builtin/read-file.ts';
import { permanentFailure, quoted } from '../../tools/builtin/refusal.ts';
import { defineTool } from '../../tools/define-tool.ts';
import type { Tool } from '../../tools/tool.ts';
import { answerCheck, askUntilAccepted, requireUsable, schemaText } from './answer.ts';
import { ANSWER_FIELDS, ASK_FIELDS, answerFields } from './fields.ts';
import {
  type ModelRequest,
  type ModelResponse,
  modelAnswer,
  modelFailed,
  modelRequest,
  quotaOf,
} from './model-api.ts';

const MAX_RESPONSE_BYTES = 16 * 2 ** 20;
/** So that the request's own timeout, which says more, expires before the engine's. */
const MARGIN_MS = 5000;

const INPUT = z.strictObject({
  ...ASK_FIELDS,
  model: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .describe('The model to ask, by its name in [models.NAME]. Default: the only one.'),
});

type AskModelInput = z.infer<typeof INPUT>;

const OUTPUT = z.object({ ...ANSWER_FIELDS, model: z.string() });

type AskModelResult = z.infer<typeof OUTPUT>;

/** Asks a model. The prompt contains the files. */
export function askModelTool(
  environment: ToolEnvironment,
  { models, trust }: Pick<VolleyConfig, 'models' | 'trust'>,
  env: EnvironmentVariables,
): Tool<AskModelInput, AskModelResult> {
  const reader = readFileTool(environment);
  const slowest = Math.max(...Object.values(models).map(({ timeoutMs }) => timeoutMs));
  return defineTool<AskModelInput, AskModelResult>({
    name: ASK_MODEL,
    description: `Asks a language model (${Object.keys(models).join(', ')}). It gets the content of the files. With a JSON Schema, the answer is data; if it is invalid, the model is asked again.`,
    input: INPUT,
    output: OUTPUT,
    readOnly: true,
    timeoutMs: Math.min(MAX_SPAN_MS, 3 * slowest + MARGIN_MS),
    retry: { maxRetries: 2 },
    resources: { cpu: 0.1, memoryMb: 20, io: 'low', network: true },
    quota: ({ model }) => {
      const [name] = modelOf(models, model) ?? [];
      return name === undefined ? undefined : quotaOf(name);
    },
    cache: ({ model, files }) => {
      const found = modelOf(models, model);
      return found && { files, version: JSON.stringify(found) };
    },
    run: async (input, context) => {
      const [name, settings] = modelOf(models, input.model) ?? unknownModel(models, input.model);
      requireUnchanged(trust);
      const key = keyOf(name, settings, env);
      const { schema, max_asks } = input;
      await requireUsable(schema);
      const prompt = await promptText(reader, input, context);
      context.report(`asking ${name}`);
      const accepted = await askUntilAccepted(
        async (rejected) => {
          const request = modelRequest(settings, key, prompt, rejected);
          const said = modelAnswer(
            settings,
            name,
            await send(name, request, settings.timeoutMs, context.signal),
          );
          const { inputTokens, outputTokens, costUsd } = said;
          context.spent?.({ inputTokens, outputTokens, costUsd });
          return said;
        },
        answerCheck(schema),
        max_asks,
        (problem) => context.report(`not accepted: ${problem}`),
      );
      return { ...answerFields(accepted), model: name };
    },
  });
}

type Models = Readonly<Record<string, ModelSettings>>;

/** The named model, or the only one. */
function modelOf(models: Models, name: string | undefined): readonly [string, ModelSettings] | undefined {
  if (name !== undefined) return Object.hasOwn(models, name) ? [name, models[name]!] : undefined;
  const [only, ...others] = Object.entries(models);
  return others.length === 0 ? only : undefined;
}

function unknownModel(models: Models, name: string | undefined): never {
  const names = Object.keys(models);
  if (name === undefined) throw permanentFailure(`Name a model: ${names.join(', ')}.`);
  const close = nearest(name, names);
  const hint = close === undefined ? `Known are ${names.join(', ')}.` : `Did you mean ${close}?`;
  throw permanentFailure(`There is no model ${quoted(name)} in [models] of volley.toml. ${hint}`);
}

/** The keys of all models that have one. */
export function modelKeys(models: Models, env: EnvironmentVariables): string[] {
  return Object.values(models).flatMap(({ key }) => env[MODEL_KEY.exec(key)?.[1] ?? '']?.trim() || []);
}

function keyOf(name: string, { key }: ModelSettings, env: EnvironmentVariables): string | undefined {
  const variable = MODEL_KEY.exec(key)?.[1];
  if (variable === undefined) return undefined;
  const value = env[variable]?.trim();
  // An error of `fetch` would quote a header that cannot be sent.
  if (value && /^[\x21-\x7e]+$/.test(value)) return value;
  const problem = value ? 'has characters that a key cannot have' : 'is not set';
  const message = `models.${name}.key refers to the environment variable ${variable}, which ${problem}.`;
  throw new OutageError(message, { kind: 'auth', scope: quotaOf(name) });
}

async function promptText(
  reader: ReturnType<typeof readFileTool>,
  { prompt, files, schema }: AskModelInput,
  context: ToolContext,
): Promise<string> {
  const parts = [prompt];
  for (const path of files) {
    const { content, truncated } = await reader.run!({ path, encoding: 'utf8' }, context);
    if (truncated) throw permanentFailure(`${quoted(path)} is too large for a prompt.`);
    parts.push(`The file ${path}:\n\n${fenced(content)}`);
  }
  if (schema !== undefined) parts.push(schemaText(schema));
  return parts.join('\n\n');
}

/** In a code block that the content cannot close. */
function fenced(content: string): string {
  const longest = (content.match(/`+/g) ?? []).reduce((max, ticks) => Math.max(max, ticks.length), 2);
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${content}${content.endsWith('\n') ? '' : '\n'}${fence}`;
}

async function send(
  name: string,
  { url, headers, body }: ModelRequest,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<ModelResponse> {
  const limit = new AbortController();
  const stop = () => limit.abort(signal.reason);
  // A long answer says nothing about other calls. What cannot be connected to fails much sooner.
  const late = () => limit.abort(modelFailed(`Model ${name} took longer than ${timeoutMs} ms.`, true));
  const timer = setTimeout(late, timeoutMs);
  signal.addEventListener('abort', stop);
  try {
    signal.throwIfAborted();
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
      // The key must not follow a redirect.
      redirect: 'manual',
      signal: limit.signal,
    });
    return { status: response.status, headers: response.headers, body: await bodyOf(name, response) };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof VolleyError) throw error;
    const cause = error instanceof TypeError && error.cause !== undefined ? error.cause : error;
    const message = `Model ${name} cannot be reached: ${reasonText(cause)}`;
    throw new OutageError(message, { kind: 'network', scope: quotaOf(name), cause: error });
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
    // Nothing is left of a response that was not read to its end.
    limit.abort();
  }
}

async function bodyOf(name: string, { body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_RESPONSE_BYTES)
      throw modelFailed(`Model ${name} answered with more than ${MAX_RESPONSE_BYTES} bytes.`, false);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
