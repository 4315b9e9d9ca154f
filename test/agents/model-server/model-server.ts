import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { anthropicMessages } from './anthropic-messages.ts';
import { geminiContent } from './gemini-content.ts';
import { openaiChat } from './openai-chat.ts';
import { openaiResponses } from './openai-responses.ts';
import { bodyOf, sendJson } from './protocol.ts';
import type { Conversation, Script } from './script.ts';

const PROTOCOLS = [openaiResponses, openaiChat, geminiContent, anthropicMessages];

export interface ModelServer {
  /** Without a path, such as `http://127.0.0.1:4000`. */
  readonly url: string;
  /** What agents told the model, in order, as far as they offered it tools. */
  readonly conversations: readonly Conversation[];
  /** Requests that it had no answer to. */
  readonly unknown: readonly string[];
  close(): Promise<void>;
}

/** A model on loopback that follows a script, in the protocols of all vendors. */
export async function startModelServer(script: Script): Promise<ModelServer> {
  const conversations: Conversation[] = [];
  const unknown: string[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = new URL(request.url ?? '/', 'http://127.0.0.1').pathname;
    const protocol = PROTOCOLS.find((known) => known.handles(path));
    if (protocol === undefined || request.method !== 'POST') {
      unknown.push(`${request.method} ${path}`);
      sendJson(response, { error: { message: 'not here' } }, 404);
      return;
    }
    const body = await bodyOf(request);
    const conversation = protocol.conversation(body);
    if (conversation.tools.length > 0) conversations.push(conversation);
    const reply = script(conversation);
    if ('refusal' in reply) {
      const error = { type: 'invalid_request_error', code: 400, message: reply.refusal };
      return sendJson(response, { type: 'error', error }, 400);
    }
    if ('resetsInMs' in reply) {
      const { body, headers } = protocol.exhausted(reply.resetsInMs);
      return sendJson(response, body, 429, headers);
    }
    protocol.answer(reply, { path, body }, response);
  };
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      unknown.push(`${request.method} ${request.url}: ${String(error)}`);
      if (response.headersSent) response.destroy();
      else sendJson(response, { error: { message: String(error) } }, 500);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    conversations,
    unknown,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
