/** A place in S3-compatible storage. */
export interface S3Address {
  readonly bucket: string;
  /** What all keys begin with: empty, or ends with a slash. */
  readonly prefix: string;
  /** Where the server is. Without it, Amazon's in that region. */
  readonly endpoint: URL | undefined;
  readonly region: string | undefined;
}

export const S3_SCHEME = 's3://';

const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
/** Names that no server and no signature encodes in its own way. */
const FOLDERS = /^(\/(?!\.{1,2}(\/|$))[\w.-]{1,255}){0,16}\/?$/;
const REGION = /^[a-z0-9-]{1,64}$/;

/** Reads `s3://bucket/prefix?endpoint=https://host&region=name`, or says what is wrong with it. */
export function parseS3Address(address: string): S3Address | { readonly problem: string } {
  const [place = '', query] = address.slice(S3_SCHEME.length).split(/\?(.*)/s);
  const slash = place.indexOf('/');
  const [bucket, path] = slash < 0 ? [place, ''] : [place.slice(0, slash), place.slice(slash)];
  if (!BUCKET.test(bucket) || !FOLDERS.test(path))
    return { problem: 'must have the form "s3://bucket/prefix", with letters, digits, "_", "-" and "."' };
  const parameters = new URLSearchParams(query);
  for (const name of parameters.keys())
    if (name !== 'endpoint' && name !== 'region')
      return { problem: `has the unknown parameter ${JSON.stringify(name)}; there are endpoint and region` };
  const [endpoint, region] = ['endpoint', 'region'].map((name) => parameters.get(name) ?? undefined);
  if (region !== undefined && !REGION.test(region))
    return { problem: 'must name a region such as "eu-central-1"' };
  const url = endpoint === undefined ? undefined : originOf(endpoint);
  if (endpoint !== undefined && url === undefined)
    return { problem: 'must name an endpoint such as "https://host:9000", without a path or a password' };
  const prefix = path.replace(/^\/|\/$/g, '');
  return { bucket, prefix: prefix && `${prefix}/`, endpoint: url, region };
}

/** Its credentials come from the environment: the file is read by many. */
function originOf(text: string): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username || url.password) return undefined;
  return url.pathname === '/' && !url.search && !url.hash ? url : undefined;
}
