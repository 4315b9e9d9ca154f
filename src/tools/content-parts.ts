import { bytesText } from '../core/words.ts';

/** The binary data of a content block: a picture, sound or a file. */
export interface BinaryContent {
  readonly kind: 'image' | 'audio' | 'resource';
  readonly mimeType: string;
  /** Base64, or what stands for it. */
  readonly data: unknown;
}

const ANY_TYPE = 'application/octet-stream';
/** Types come from servers, and go into headers and texts. */
const MIME_TYPE = /^[\w.+-]{1,64}\/[\w.+-]{1,64}$/;

interface Block {
  readonly type?: unknown;
  readonly mimeType?: unknown;
  readonly data?: unknown;
  readonly resource?: { readonly mimeType?: unknown; readonly blob?: unknown } | null;
}

/** The binary data of a content block of the Model Context Protocol; undefined for other values. */
export function binaryOf(part: unknown): BinaryContent | undefined {
  const { type, data, mimeType, resource } = Object(part) as Block;
  if ((type === 'image' || type === 'audio') && data !== undefined)
    return { kind: type, mimeType: checkedType(mimeType), data };
  const blob = Object(resource).blob as unknown;
  if (type !== 'resource' || blob === undefined) return undefined;
  return { kind: type, mimeType: checkedType(resource?.mimeType), data: blob };
}

/** The same block with other data. */
function withData(part: object, data: unknown): object {
  const { type, resource } = part as Block;
  return type === 'resource' ? { ...part, resource: { ...resource, blob: data } } : { ...part, data };
}

/** The content blocks of a result that has some: those of tools of MCP servers, or of any tool that returns `parts`. */
export function contentPartsOf(value: unknown): readonly unknown[] {
  const parts = Object(value).parts as unknown;
  return Array.isArray(parts) ? parts : [];
}

/** Replaces the base64 text in the content blocks of a result. A result without any is returned unchanged. */
export function replaceBinary(
  value: unknown,
  replace: (binary: BinaryContent, base64: string) => unknown,
): unknown {
  const parts = contentPartsOf(value);
  let hasChanged = false;
  const replaced = parts.map((part) => {
    const binary = binaryOf(part);
    if (binary === undefined || typeof binary.data !== 'string') return part;
    hasChanged = true;
    return withData(part as object, replace(binary, binary.data));
  });
  return hasChanged ? { ...(value as object), parts: replaced } : value;
}

/** What is shown where only text can go: `[image/png, 300 KB]`. */
export function binaryLabel(mimeType: string, bytes: number): string {
  return `[${mimeType}, ${bytesText(bytes)}]`;
}

export function base64Bytes(base64: string): number {
  return Buffer.byteLength(base64, 'base64');
}

function checkedType(mimeType: unknown): string {
  return typeof mimeType === 'string' && MIME_TYPE.test(mimeType) ? mimeType : ANY_TYPE;
}
