/** Writes types as a reader wants them: exported shapes by their names, with a link, everything else as it is. */
import ts from 'typescript';

const NO_LIMIT = ts.TypeFormatFlags.NoTruncation | ts.TypeFormatFlags.UseSingleQuotesForStringLiteralType;

export interface TypeText {
  /** One of several types, as Markdown. */
  readonly linked: (types: readonly ts.Type[]) => string;
  /** The exported shape that a type is, and its name. */
  readonly symbolOf: (type: ts.Type) => ts.Symbol | undefined;
  readonly nameOf: (type: ts.Type) => string | undefined;
  /** What a list holds. */
  readonly entryOf: (type: ts.Type) => ts.Type | undefined;
  /** What every member of an object with members of any name holds. */
  readonly anyMemberOf: (type: ts.Type) => ts.Type | undefined;
  /** The arguments of a generic type, if it has that name. */
  readonly argumentsOf: (type: ts.Type, name: string) => readonly ts.Type[] | undefined;
}

/** What a type can be. */
export const alternatives = (type: ts.Type): readonly ts.Type[] => (type.isUnion() ? type.types : [type]);

/** The anchor of a heading on the usual hosts. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

const isSame = (a: readonly ts.Type[], b: readonly ts.Type[]): boolean =>
  new Set(a).symmetricDifference(new Set(b)).size === 0;

/** The checker makes an intersection anew where two types with the same member meet. */
const isSameIntersection = (a: ts.Type, b: ts.Type): boolean =>
  a.isIntersection() && b.isIntersection() && isSame(a.types, b.types);

export const createTypeText = (
  checker: ts.TypeChecker,
  shapes: ReadonlyMap<ts.Type, ts.Symbol>,
): TypeText => {
  const entryOf = (type: ts.Type): ts.Type | undefined =>
    checker.isArrayType(type) ? checker.getTypeArguments(type as ts.TypeReference)[0] : undefined;
  const anyMemberOf = (type: ts.Type): ts.Type | undefined =>
    checker.getPropertiesOfType(type).length === 0 ? type.getStringIndexType() : undefined;
  const symbolOf = (type: ts.Type): ts.Symbol | undefined =>
    shapes.get(type) ?? [...shapes].find(([shape]) => isSameIntersection(shape, type))?.[1];
  const nameOf = (type: ts.Type): string | undefined => symbolOf(type)?.name;

  const plain = (type: ts.Type): string => {
    const name = nameOf(type);
    const entry = entryOf(type);
    const value = anyMemberOf(type);
    if (name !== undefined) {
      return name;
    }
    if (entry !== undefined) {
      const text = union(alternatives(entry));
      return text.includes(' | ') ? `(${text})[]` : `${text}[]`;
    }
    return value === undefined || type.getCallSignatures().length > 0
      ? checker.typeToString(type, undefined, NO_LIMIT)
      : `Record<string, ${union(alternatives(value))}>`;
  };

  const union = (types: readonly ts.Type[]): string => {
    const texts = new Set(types.map(plain));
    if (texts.has('true') && texts.has('false')) {
      texts.delete('true');
      texts.delete('false');
      texts.add('boolean');
    }
    const isNull = texts.delete('null');
    return [...texts, ...(isNull ? ['null'] : [])].join(' | ');
  };

  const targetOf = (type: ts.Type): string | undefined => {
    const inner = entryOf(type) ?? anyMemberOf(type);
    return nameOf(type) ?? (inner && targetOf(inner));
  };

  return {
    symbolOf,
    nameOf,
    entryOf,
    anyMemberOf,
    argumentsOf: (type, name) =>
      type.symbol?.name === name ? checker.getTypeArguments(type as ts.TypeReference) : undefined,
    linked: (types) => {
      const whole = [...shapes].find(([shape]) => shape.isUnion() && isSame(shape.types, types))?.[1].name;
      if (whole !== undefined) {
        return `[\`${whole}\`](#${anchorOf(whole)})`;
      }
      const targets = new Set(types.filter((type) => !(type.flags & ts.TypeFlags.Null)).map(targetOf));
      const [target] = targets;
      if (target === undefined || targets.size > 1) {
        return `\`${union(types)}\``;
      }
      return `[\`${union(types)}\`](#${anchorOf(target)})`;
    },
  };
};
