import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { serve } from './support/serve.ts';

type Schema = Record<string, unknown>;

interface Operation {
  readonly summary?: string;
  readonly tags?: readonly string[];
  readonly security?: readonly object[];
  readonly parameters?: readonly { name: string; in: string; required: boolean; schema: Schema }[];
  readonly requestBody?: { content: Record<string, { schema: Schema }> };
  readonly responses: Record<string, { description: string; content?: Record<string, { schema: Schema }> }>;
}

interface Document {
  readonly openapi: string;
  readonly info: { title: string; version: string };
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { schemas: Record<string, Schema>; securitySchemes: Schema };
}

async function describe(): Promise<Document> {
  const { json } = await serve();
  return (await json('GET', '/openapi.json')).body;
}

test('the description is OpenAPI 3.1, and every operation has what a reader needs', async () => {
  const document = await describe();
  expect(document.openapi).toBe('3.1.0');
  expect(document.info).toMatchObject({ title: 'Volley', version: '0.0.0' });
  expect(Object.keys(document.components.securitySchemes)).toEqual(['bearer', 'session']);
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const about = `${method} ${path}`;
      expect(operation.summary, about).toEqual(expect.any(String));
      expect(operation.tags, about).toHaveLength(1);
      // Also where none is needed: an empty list.
      expect(operation.security, about).toEqual(expect.any(Array));
      expect(Object.keys(operation.responses).length, about).toBeGreaterThan(0);
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const declared = (operation.parameters ?? []).filter((one) => one.in === 'path');
      expect(
        declared.map(({ name }) => name),
        about,
      ).toEqual(inPath);
      expect(
        declared.every(({ required }) => required),
        about,
      ).toBe(true);
    }
  }
});

test('every schema is a valid JSON Schema, and every reference leads somewhere', async () => {
  const document = await describe();
  const ajv = new Ajv2020({ strict: false });
  const text = JSON.stringify(document);
  for (const [, name] of text.matchAll(/"#\/components\/schemas\/([^"]+)"/g))
    expect(document.components.schemas, name).toHaveProperty(name!);
  for (const [name, schema] of Object.entries(document.components.schemas))
    expect(ajv.validateSchema(schema), name).toBe(true);
});

test('every route that the server has is described, but for none that it has not', async () => {
  const { routes } = await describedAndReal();
  expect(routes.real).toEqual(routes.described);
});

test('what the server answers is what its description says', async () => {
  const served = await serve();
  const { body: document } = (await served.json('GET', '/openapi.json')) as { body: Document };
  await served.json('POST', '/v1/batches', { tasks: [{ id: 'a', function: 'echo' }], start: {} });
  await served.executor.handle({ action: 'wait' });
  const ajv = new Ajv2020({ strict: false });
  ajv.addSchema({ $id: 'volley', components: document.components });
  const check = async (template: string, path: string, status = 200) => {
    const answer = await served.json('GET', path);
    expect(answer.status, path).toBe(status);
    const { responses } = document.paths[template]!['get']!;
    const [media] = Object.values((responses[status] ?? responses['default'])!.content!);
    const schema = JSON.parse(
      JSON.stringify(media!.schema).replaceAll('"#/components', '"volley#/components'),
    );
    const isValid = ajv.validate(schema, answer.body);
    expect(isValid, `${path}: ${ajv.errorsText()}`).toBe(true);
  };
  await check('/v1/batches', '/v1/batches');
  await check('/v1/batches/{batch}', '/v1/batches/default');
  await check('/v1/batches/{batch}', '/v1/batches/none', 404);
  await check('/v1/batches/{batch}/results', '/v1/batches/default/results');
  await check('/v1/batches/{batch}/attempts', '/v1/batches/default/attempts');
  await check('/v1/executions', '/v1/executions');
  await check('/v1/executions/{batch}/{id}', '/v1/executions/default/a');
  await check('/v1/executions/{batch}/{id}/explain', '/v1/executions/default/a/explain');
  await check('/v1/tools', '/v1/tools');
  await check('/v1/tools/{name}', '/v1/tools/echo');
  await check('/v1/statistics', '/v1/statistics');
  await check('/v1/session', '/v1/session');
});

async function describedAndReal() {
  const { createApi } = await import('../../src/server/routes/api.ts');
  const { addRoutes } = await import('../../src/server/app.ts');
  const api = createApi();
  const served = await serve();
  addRoutes(api, {
    executor: served.executor,
    store: served.store,
    coordinator: served.coordinator,
  } as never);
  const document = api.getOpenAPI31Document({ openapi: '3.1.0', info: { title: '', version: '' } });
  const described = Object.entries(document.paths ?? {}).flatMap(([path, methods]) =>
    Object.keys(methods as object).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const real = api.routes.map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`);
  return { routes: { described: [...new Set(described)].sort(), real: [...new Set(real)].sort() } };
}
