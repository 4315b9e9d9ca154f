import { expect, test } from 'vitest';
import { parseS3Address } from '../../src/config/s3-address.ts';

test.each([
  ['s3://bucket', { bucket: 'bucket', prefix: '', endpoint: undefined, region: undefined }],
  ['s3://my.bucket/', { bucket: 'my.bucket', prefix: '' }],
  ['s3://bucket/a/b/', { prefix: 'a/b/' }],
  ['s3://bucket/a?region=eu-central-1', { prefix: 'a/', region: 'eu-central-1' }],
  [
    's3://bucket?endpoint=https://host:9000/&region=auto',
    { endpoint: new URL('https://host:9000'), region: 'auto' },
  ],
])('%s is read', (address, expected) => {
  expect(parseS3Address(address)).toMatchObject(expected);
});

test.each([
  's3://',
  's3://Bucket',
  's3://user:password@bucket/a',
  's3://bucket//a',
  's3://bucket/../other',
  's3://bucket/a/.',
  's3://bucket/a b',
  's3://bucket/a+b',
  's3://bucket/ü',
  's3://bucket?endpont=https://host',
  's3://bucket?endpoint=host:9000',
  's3://bucket?endpoint=ftp://host',
  's3://bucket?endpoint=https://user:password@host',
  's3://bucket?endpoint=https://host/path',
  's3://bucket?region=a/b',
  's3://bucket?accessKeyId=a',
])('%s is refused', (address) => {
  expect(parseS3Address(address)).toHaveProperty('problem');
});
