/** Reads the SDK with the compiler: what is exported, what the comments say, and what types come to. */
import ts from 'typescript';
import { alternatives, createTypeText, type TypeText } from './type-text.ts';

/** A comment in its parts. */
export interface Comment {
  readonly text: string;
  readonly examples: readonly string[];
  /** Paths of the pages that tell more, as the vault serves them. */
  readonly see: readonly string[];
}

/** A member of an object; `type` is Markdown, with links to the shapes that have names. */
export interface Member {
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
  readonly text: string;
}

/** A parameter of a call. */
interface Parameter {
  readonly name: string;
  readonly type: ts.Type;
  /** The type as the source has it. */
  readonly written: string;
}

/** One way to call something. */
export interface Signature {
  readonly line: string;
  readonly parameters: readonly Parameter[];
  /** What it gives, and the same as the source has it. */
  readonly returns: ts.Type;
  readonly written: string;
}

export interface Source extends TypeText {
  /** The exported types and values, by name. */
  readonly exports: ReadonlyMap<string, ts.Symbol>;
  readonly commentOf: (symbol: ts.Symbol) => Comment;
  readonly typeOf: (symbol: ts.Symbol) => ts.Type;
  readonly callsOf: (symbol: ts.Symbol) => readonly ts.Symbol[];
  /** The ways to call something; `prefix` is what stands before the parentheses. */
  readonly signaturesOf: (symbol: ts.Symbol, prefix: string) => readonly Signature[];
  /** The members of an object of ours; of several that it can be, those of all. None of anything else. */
  readonly membersOf: (...types: readonly ts.Type[]) => readonly Member[];
  /** The texts that a shape can be, each with its comment. */
  readonly literalsOf: (symbol: ts.Symbol) => readonly (readonly [literal: string, comment: string])[];
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

/** Opens the SDK as its own compiler settings have it. */
export const readSdk = (root: string, entry: string): Source => {
  const { config } = ts.readConfigFile(`${root}/tsconfig.json`, ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  const program = ts.createProgram([entry], options);
  const checker = program.getTypeChecker();
  const file = program.getSourceFile(entry);
  const module = file && checker.getSymbolAtLocation(file);
  if (module === undefined) {
    throw new Error(`${entry} is no module`);
  }
  const exports = new Map(
    checker
      .getExportsOfModule(module)
      .map((symbol) => [
        symbol.name,
        symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol,
      ]),
  );
  return sourceOf(checker, exports);
};

const sourceOf = (checker: ts.TypeChecker, exports: ReadonlyMap<string, ts.Symbol>): Source => {
  const text = createTypeText(checker, shapesOf(checker, exports));
  const typeOf = (symbol: ts.Symbol): ts.Type =>
    declaredType(checker, symbol) ?? checker.getTypeOfSymbol(symbol);
  return {
    ...text,
    exports,
    typeOf,
    commentOf: (symbol) => commentOf(checker, symbol),
    callsOf: (symbol) => checker.getPropertiesOfType(typeOf(symbol)),
    signaturesOf: (symbol, prefix) =>
      checker
        .getTypeOfSymbol(symbol)
        .getCallSignatures()
        .map((signature) => signatureOf(checker, signature, prefix)),
    membersOf: (...types) => membersOf(checker, types, text),
    literalsOf,
  };
};

const declaredType = (checker: ts.TypeChecker, symbol: ts.Symbol): ts.Type | undefined =>
  symbol.flags & ts.SymbolFlags.Type ? checker.getDeclaredTypeOfSymbol(symbol) : undefined;

/** The exported shapes by their types. What is generic has no shape of its own. */
const shapesOf = (
  checker: ts.TypeChecker,
  exports: ReadonlyMap<string, ts.Symbol>,
): ReadonlyMap<ts.Type, ts.Symbol> => {
  const shapes = new Map<ts.Type, ts.Symbol>();
  for (const symbol of exports.values()) {
    const type = declaredType(checker, symbol);
    const isShape = type && type.flags & (ts.TypeFlags.Object | ts.TypeFlags.UnionOrIntersection);
    if (isShape && !shapes.has(type)) {
      shapes.set(type, symbol);
    }
  }
  return shapes;
};

const commentOf = (checker: ts.TypeChecker, symbol: ts.Symbol): Comment => {
  const tags = symbol.getJsDocTags(checker);
  const textsOf = (wanted: string): string[] =>
    tags.filter(({ name }) => name === wanted).map(({ text }) => ts.displayPartsToString(text).trim());
  const said = ts.displayPartsToString(symbol.getDocumentationComment(checker)).trim();
  const schema = schemaOf(checker, symbol);
  // In `api.d.ts` the description is a tag of its own, and what stands before it is of the format.
  const own = textsOf('description')[0] ?? said;
  return {
    text: own === '' && schema ? commentOf(checker, schema).text : own,
    examples: textsOf('example'),
    see: textsOf('see'),
  };
};

/** The member of `api.d.ts` that a name or a member of that type stands for. */
const schemaOf = (checker: ts.TypeChecker, { declarations }: ts.Symbol): ts.Symbol | undefined => {
  const [declaration] = declarations ?? [];
  const isNamed =
    declaration && (ts.isTypeAliasDeclaration(declaration) || ts.isPropertySignature(declaration));
  const type = isNamed ? declaration.type : undefined;
  if (!type || !ts.isIndexedAccessTypeNode(type) || !ts.isLiteralTypeNode(type.indexType)) {
    return undefined;
  }
  const { literal } = type.indexType;
  const object = checker.getTypeFromTypeNode(type.objectType);
  return ts.isStringLiteral(literal) ? checker.getPropertyOfType(object, literal.text) : undefined;
};

const signatureOf = (checker: ts.TypeChecker, signature: ts.Signature, prefix: string): Signature => {
  const declaration = signature.getDeclaration();
  const parameters = declaration.parameters.map((parameter) => ({
    name: parameter.name.getText(),
    optional: parameter.questionToken !== undefined,
    type: checker.getTypeAtLocation(parameter),
    written: oneLine(parameter.type?.getText() ?? ''),
  }));
  const list = parameters.map(({ name, optional, written }) => `${name}${optional ? '?' : ''}: ${written}`);
  const generics = declaration.typeParameters?.map((each) => oneLine(each.getText())).join(', ');
  const written = oneLine(declaration.type?.getText() ?? 'void');
  const line = `${prefix}${generics === undefined ? '' : `<${generics}>`}(${list.join(', ')}): ${written}`;
  return { line, parameters, written, returns: signature.getReturnType() };
};

/** Members of a nested object that has no name, as rows of their own. */
const nestedOf = (checker: ts.TypeChecker, types: readonly ts.Type[], text: TypeText): readonly Member[] => {
  const [type, ...others] = types.filter((each) => (each.flags & ts.TypeFlags.Null) === 0);
  const isNested =
    type !== undefined &&
    others.length === 0 &&
    text.nameOf(type) === undefined &&
    text.entryOf(type) === undefined &&
    type.symbol?.flags === ts.SymbolFlags.TypeLiteral;
  return isNested ? membersOf(checker, [type], text) : [];
};

const memberOf = (
  checker: ts.TypeChecker,
  text: TypeText,
  name: string,
  kinds: readonly (readonly ts.Symbol[])[],
): readonly Member[] => {
  const found = kinds.flatMap((properties) => properties.filter((each) => each.name === name));
  const all = new Set(found.flatMap((each) => alternatives(checker.getTypeOfSymbol(each))));
  const types = [...all].filter((each) => (each.flags & ts.TypeFlags.Undefined) === 0);
  const nested = nestedOf(checker, types, text);
  const said = found.map((each) => commentOf(checker, each).text).filter((each) => each !== '');
  const named = types.flatMap((type) => text.symbolOf(type) ?? []);
  const member = {
    name,
    type: nested.length > 0 ? '`object`' : text.linked(types),
    required: found.length === kinds.length && found.every(({ flags }) => !(flags & ts.SymbolFlags.Optional)),
    text: oneLine(said[0] ?? named.map((symbol) => commentOf(checker, symbol).text)[0] ?? ''),
  };
  return [member, ...nested.map((each) => ({ ...each, name: `${name}.${each.name}`, required: false }))];
};

const isOurs = (property: ts.Symbol): boolean =>
  property.declarations?.some((each) => !each.getSourceFile().fileName.includes('/node_modules/')) ?? false;

const membersOf = (checker: ts.TypeChecker, types: readonly ts.Type[], text: TypeText): readonly Member[] => {
  const kinds = types
    .flatMap(alternatives)
    .filter(({ flags }) => flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection))
    .map((each) => checker.getPropertiesOfType(each).filter(isOurs));
  const names = new Set(kinds.flatMap((properties) => properties.map(({ name }) => name)));
  return [...names].flatMap((name) => memberOf(checker, text, name, kinds));
};

const COMMENT = /\/\*\*\s*(.*?)\s*\*\//s;

const literalsOf = (symbol: ts.Symbol): readonly (readonly [string, string])[] => {
  const [declaration] = symbol.declarations ?? [];
  if (!declaration || !ts.isTypeAliasDeclaration(declaration) || !ts.isUnionTypeNode(declaration.type)) {
    return [];
  }
  const file = declaration.getSourceFile();
  let end = declaration.name.end;
  return declaration.type.types.filter(ts.isLiteralTypeNode).map((node) => {
    // The comment stands before the bar, which is no part of the node.
    const [, comment = ''] = COMMENT.exec(file.text.slice(end, node.getStart())) ?? [];
    end = node.end;
    return [node.getText().slice(1, -1), oneLine(comment)];
  });
};
