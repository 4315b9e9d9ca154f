import { CallToolResultSchema } from '@modelcontextprotocol/core';
import { expect, test } from 'vitest';
import { anthropicResults } from '../../../src/coordinator/formats/anthropic.ts';
import { mcpResult } from '../../../src/coordinator/formats/mcp.ts';
import { openaiChatResults, openaiResponsesResults } from '../../../src/coordinator/formats/openai.ts';
import { vercelResults } from '../../../src/coordinator/formats/vercel.ts';
import { completed } from './support/results.ts';

const data = Buffer.alloc(3000, 'x').toString('base64');
const file = { uri: 'file:///a.zip', mimeType: 'application/zip', blob: data };
const RESULT = completed('a', {
  source: 'mcp:media.all',
  parts: [
    { type: 'image', mimeType: 'image/png', data, annotations: { priority: 1 } },
    { type: 'image', mimeType: 'image/tiff', data },
    { type: 'audio', mimeType: 'audio/wav', data },
    { type: 'resource', resource: file },
  ],
});
const SHOWN = {
  source: 'mcp:media.all',
  parts: [
    { type: 'image', mimeType: 'image/png', data: '[image/png, 3 KB]', annotations: { priority: 1 } },
    { type: 'image', mimeType: 'image/tiff', data: '[image/tiff, 3 KB]' },
    { type: 'audio', mimeType: 'audio/wav', data: '[audio/wav, 3 KB]' },
    { type: 'resource', resource: { ...file, blob: '[application/zip, 3 KB]' } },
  ],
};
const TEXT = JSON.stringify(SHOWN);

test('Claude gets the pictures that it takes, and the rest in words', () => {
  expect(anthropicResults([RESULT])[0]!.content).toEqual([
    { type: 'text', text: TEXT },
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data } },
  ]);
});

test('the Responses API gets the pictures that it takes, and Chat Completions words only', () => {
  expect(openaiResponsesResults([RESULT])[0]!.output).toEqual([
    { type: 'input_text', text: TEXT },
    { type: 'input_image', detail: 'auto', image_url: `data:image/png;base64,${data}` },
  ]);
  expect(openaiChatResults([RESULT])[0]!.content).toBe(TEXT);
});

test('the AI SDK gets pictures, sound and files', () => {
  expect(vercelResults([RESULT])[0]!.output).toEqual({
    type: 'content',
    value: [
      { type: 'text', text: TEXT },
      { type: 'image-data', data, mediaType: 'image/png' },
      { type: 'file-data', data, mediaType: 'image/tiff' },
      { type: 'file-data', data, mediaType: 'audio/wav' },
      { type: 'file-data', data, mediaType: 'application/zip' },
    ],
  });
});

test('an MCP client gets all of them as blocks, and no base64 in texts and data', () => {
  const answer = mcpResult(RESULT);
  expect(answer).toEqual({
    content: [
      { type: 'text', text: TEXT },
      { type: 'image', mimeType: 'image/png', data },
      { type: 'image', mimeType: 'image/tiff', data },
      { type: 'audio', mimeType: 'audio/wav', data },
      { type: 'resource', resource: file },
    ],
    structuredContent: SHOWN,
  });
  expect(CallToolResultSchema.safeParse(answer).success).toBe(true);
});

test('a result that only looks like pictures stays as it is', () => {
  const values = [{ parts: ['a', null, 7, { type: 'image' }] }, { parts: { type: 'image', data } }];
  for (const value of values)
    expect(mcpResult(completed('a', value))).toEqual({
      content: [{ type: 'text', text: JSON.stringify(value) }],
      structuredContent: value,
    });
});
