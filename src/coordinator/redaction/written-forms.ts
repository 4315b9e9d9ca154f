/** Shorter parts of a value say too little to be removed on their own. */
const SHORTEST_PART = 6;

/** Lines of a value that are shorter occur in other texts, too. */
const SHORTEST_LINE = 16;

/** How a value may stand in a text: as it is, line by line, or escaped and encoded as programs do with it. */
export function writtenForms(value: string): string[] {
  const json = escaped(value);
  const hex = Buffer.from(value).toString('hex');
  const url = percentEncoded(value, /[A-Za-z0-9_.~-]/);
  const forms = [
    value,
    value.trim(),
    ...longLines(value),
    json,
    escaped(json),
    url,
    url.replaceAll('%20', '+'),
    url.replace(/%../g, (code) => code.toLowerCase()),
    // As `encodeURIComponent` and `encodeURI` do it: they leave more characters alone.
    percentEncoded(value, /[A-Za-z0-9_.~!'()*-]/),
    percentEncoded(value, /[A-Za-z0-9_.~!'()*;/?:@&=+$,#-]/),
    ...base64Forms(value),
    hex,
    hex.toUpperCase(),
  ];
  return [...new Set(forms)];
}

function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function longLines(value: string): string[] {
  const lines = value.split('\n').map((line) => line.trim());
  // The first and the last line of a key in PEM are the same for everyone.
  return lines.filter((line) => line.length >= SHORTEST_LINE && !line.startsWith('-----'));
}

function percentEncoded(value: string, plain: RegExp): string {
  return [...Buffer.from(value)]
    .map((byte) => {
      const character = String.fromCharCode(byte);
      return plain.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');
}

/** Base64 of the value alone, and what is the same for every text that holds it, by its three possible positions. */
function base64Forms(value: string): string[] {
  const cores = [0, 1, 2].map((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(value)]);
    return bytes.toString('base64').slice(Math.ceil((before * 8) / 6), Math.floor((bytes.length * 8) / 6));
  });
  const forms = [Buffer.from(value).toString('base64'), ...cores];
  return [...forms, ...forms.map((form) => form.replaceAll('+', '-').replaceAll('/', '_'))].filter(
    (form) => form.length >= SHORTEST_PART,
  );
}
