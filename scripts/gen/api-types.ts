/** The types of the API from its OpenAPI document, with comments in the form that editors show best. */
import openapiTS, { astToString, type OpenAPI3 } from 'openapi-typescript';

interface Document {
  readonly components: { readonly schemas: Readonly<Record<string, { readonly description?: string }>> };
}

/**
 * Turns a description into the text of its comment, instead of a tag. Drops the format before it, such as
 * `* Format: date-time` before `* @description When it happened.`
 */
function plainComments(types: string): string {
  return types
    .replaceAll(/^ *\* Format: .*\n(?= *\* @description )/gm, '')
    .replaceAll(/^( *(?:\/\*\*| \*) )@description /gm, '$1');
}

const REFERENCE = /(?<!\*\/\n)^( *)(\w+\??: components\["schemas"\]\["(\w+)"\](?:\[\])?;)$/gm;

/** Gives a member without a description the description of its schema. */
function withSchemaTexts(types: string, { components: { schemas } }: Document): string {
  return types.replaceAll(REFERENCE, (line, indent: string, member: string, name: string) => {
    const { description } = schemas[name] ?? {};
    return description === undefined ? line : `${indent}/** ${description} */\n${indent}${member}`;
  });
}

/** Makes the types from the result of `buildOpenApi`. */
export async function apiTypes(document: object): Promise<string> {
  // The generator requires the exact type of its own package; a linter checks the document.
  const types = astToString(await openapiTS(structuredClone(document) as unknown as OpenAPI3));
  return withSchemaTexts(plainComments(types), document as Document);
}
