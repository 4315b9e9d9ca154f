import { z } from 'zod';
import { defineTool } from '../define-tool.ts';
import type { Tool } from '../tool.ts';
import type { ToolEnvironment } from './environment.ts';
import { PATH, TEXT_ENCODING } from './input-fields.ts';
import { memoryForMb } from './needs.ts';
import { fileFailure } from './refusal.ts';
import { replaceFile } from './replace-file.ts';
import { Roots } from './roots.ts';

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

function inputWithin(maxBytes: number) {
  return z
    .strictObject({
      path: PATH.describe('The file to write, relative to the working folder or absolute.'),
      content: z.string().describe(`The whole content of the file, at most ${maxBytes} bytes.`),
      encoding: TEXT_ENCODING.describe('How content is encoded: utf8 for text, base64 for anything else.'),
      create_directories: z.boolean().default(false).describe('Whether to create missing folders.'),
    })
    .refine(({ content, encoding }) => Buffer.byteLength(content, encoding) <= maxBytes, {
      path: ['content'],
      error: `must be at most ${maxBytes} bytes`,
    })
    .refine(({ content, encoding }) => encoding === 'utf8' || isBase64(content), {
      path: ['content'],
      error: 'must be base64, according to encoding',
    });
}

type WriteFileInput = z.infer<ReturnType<typeof inputWithin>>;

const OUTPUT = z.object({
  path: z.string(),
  bytes: z.number(),
  created: z.boolean().describe('Whether the file is new.'),
});

type WriteFileResult = z.infer<typeof OUTPUT>;

/** Writes a file atomically: a reader sees the old content or the new, never a part. */
export function writeFileTool(
  environment: ToolEnvironment,
  roots = new Roots(environment.roots, undefined, environment.protection),
): Tool<WriteFileInput, WriteFileResult> {
  const { maxBytes } = environment.files;
  return defineTool<WriteFileInput, WriteFileResult>({
    name: 'write_file',
    description: 'Writes a file, replacing its whole content atomically.',
    input: inputWithin(maxBytes),
    output: OUTPUT,
    idempotent: true,
    resources: ({ path, content }) => ({
      cpu: 0.1,
      memoryMb: memoryForMb(content.length),
      io: 'medium',
      exclusive: [roots.lockName(path)],
    }),
    run: async (input, { signal }) => {
      try {
        return await write(input, roots, signal);
      } catch (error) {
        throw fileFailure('write', input.path, error);
      }
    },
  });
}

async function write(input: WriteFileInput, roots: Roots, signal: AbortSignal): Promise<WriteFileResult> {
  const { path, content, encoding, create_directories: createDirectories } = input;
  const bytes = Buffer.from(content, encoding);
  const { created } = await replaceFile(roots, path, { createDirectories, signal }, (handle) =>
    handle.writeFile(bytes, { signal }),
  );
  return { path, bytes: bytes.length, created };
}

function isBase64(text: string): boolean {
  return text.length % 4 === 0 && BASE64.test(text);
}
