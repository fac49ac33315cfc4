/** Reads a whole answer. An answer to a failed call may be anything (a proxy's page): what is no JSON is `undefined`. */
export async function readJson(body: AsyncIterable<Uint8Array>): Promise<unknown> {
  try {
    return JSON.parse(await readText(body));
  } catch {
    return undefined;
  }
}

export async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}
