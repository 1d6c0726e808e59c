/** The types of the API from its document, with comments as editors show them best. */
import openapiTS, { astToString, type OpenAPI3 } from 'openapi-typescript';

interface Document {
  readonly components: { readonly schemas: Readonly<Record<string, { readonly description?: string }>> };
}

/**
 * A description as the text of its comment, not as a tag among others; the format is no news where there is one.
 * `* Format: date-time` stands before `* @description When it happened.`
 */
function plainComments(types: string): string {
  return types
    .replaceAll(/^ *\* Format: .*\n(?= *\* @description )/gm, '')
    .replaceAll(/^( *(?:\/\*\*| \*) )@description /gm, '$1');
}

const REFERENCE = /(?<!\*\/\n)^( *)(\w+\??: components\["schemas"\]\["(\w+)"\](?:\[\])?;)$/gm;

/** What a member is where it has the type of a schema and no words of its own: what the schema says of itself. */
function withSchemaTexts(types: string, { components: { schemas } }: Document): string {
  return types.replaceAll(REFERENCE, (line, indent: string, member: string, name: string) => {
    const { description } = schemas[name] ?? {};
    return description === undefined ? line : `${indent}/** ${description} */\n${indent}${member}`;
  });
}

/** Makes the types of the document that `buildOpenApi` gives. */
export async function apiTypes(document: object): Promise<string> {
  // The compiler wants the exact type of its own package; the document is checked by the linter.
  const types = astToString(await openapiTS(structuredClone(document) as unknown as OpenAPI3));
  return withSchemaTexts(plainComments(types), document as Document);
}
