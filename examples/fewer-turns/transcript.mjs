import { Tiktoken } from 'js-tiktoken/lite';
import o200k from 'js-tiktoken/ranks/o200k_base';

const tokenizer = new Tiktoken(o200k);
const counted = new Map();

/** Transcripts have much in common, such as the definitions of tools: each message is counted once. */
function tokensOf(message) {
  const text = JSON.stringify(message);
  if (!counted.has(text)) counted.set(text, tokenizer.encode(text, [], []).length);
  return counted.get(text);
}

/** What a model was given and what it wrote, in order. */
export class Transcript {
  #messages;

  /** The definitions of all tools come first, as every API for models sends them. */
  constructor(tools, prompt) {
    const definitions = tools.map(({ name, description, inputSchema }) => ({
      name,
      description,
      inputSchema,
    }));
    this.#messages = [
      { role: 'system', tools: definitions },
      { role: 'user', text: prompt },
    ];
  }

  asked(calls) {
    this.#messages.push({ role: 'assistant', calls });
  }

  answered(results) {
    for (const { isError, content } of results) {
      if (isError) throw new Error(JSON.stringify(content));
      this.#messages.push({ role: 'tool', content });
    }
  }

  said(text) {
    this.#messages.push({ role: 'assistant', text });
  }

  /** How often the model was asked. */
  get turns() {
    return this.#messages.filter(({ role }) => role === 'assistant').length;
  }

  /** In every turn a model reads all that was before. */
  measure() {
    let context = 0;
    let written = 0;
    let read = 0;
    for (const message of this.#messages) {
      const tokens = tokensOf(message);
      if (message.role === 'assistant') {
        written += tokens;
        read += context;
      }
      context += tokens;
    }
    return { written, read };
  }

  text() {
    return JSON.stringify(this.#messages);
  }
}
