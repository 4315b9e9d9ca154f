import type { Api } from './routes/api.ts';

const DESCRIPTION =
  "Volley runs an AI agent's work in parallel. Everything that the dashboard shows can be read here. Errors are application/problem+json with a stable code.";

/** The description of the API, made from the schemas that check its requests. */
export function openApiDocument(api: Api, version: string): object {
  const document = api.getOpenAPI31Document({
    openapi: '3.1.0',
    info: { title: 'Volley', version, description: DESCRIPTION },
    servers: [{ url: '/' }],
  });
  const { components = {} } = document;
  return {
    ...document,
    components: {
      ...components,
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'volley_<port>',
          description: 'Of a browser that has exchanged a one-time key.',
        },
      },
    },
  };
}
