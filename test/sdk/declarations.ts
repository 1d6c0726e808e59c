/** What the types of the packed SDK say to an editor: every exported name and every member, with its text. */
import ts from 'typescript';

/** A name that somebody who uses the SDK can see, such as `VaultCalls.store` or `StoreItem.user`. */
export interface Documented {
  readonly name: string;
  /** The text as an editor shows it; empty where there is none. */
  readonly text: string;
  readonly tags: readonly { readonly name: string; readonly text: string }[];
  /** Whether it is called. */
  readonly isCall: boolean;
}

/** Compiles a file of declarations, with the names of browsers. */
export function programOf(path: string): ts.Program {
  return ts.createProgram([path], {
    target: ts.ScriptTarget.ES2022,
    lib: ['lib.es2022.d.ts', 'lib.dom.d.ts'],
    strict: true,
  });
}

/** All that a file of declarations exports, members of members too where these have types of the file's own. */
export function documentedOf(program: ts.Program, path: string): readonly Documented[] {
  const checker = program.getTypeChecker();
  const file = program.getSourceFile(path);
  const module = file && checker.getSymbolAtLocation(file);
  if (module === undefined) {
    throw new Error(`${path} exports nothing.`);
  }
  const found: Documented[] = [];
  const seen = new Set<ts.Type>();

  const isOwn = (symbol: ts.Symbol): boolean =>
    symbol.declarations?.some((declaration) => declaration.getSourceFile() === file) === true;

  const add = (name: string, symbol: ts.Symbol, isCall: boolean): void => {
    const tags = symbol
      .getJsDocTags(checker)
      .map((tag) => ({ name: tag.name, text: ts.displayPartsToString(tag.text).trim() }));
    const text = ts.displayPartsToString(symbol.getDocumentationComment(checker));
    found.push({ name, text, tags, isCall });
  };

  const visitMembers = (name: string, type: ts.Type): void => {
    if (type.isUnion()) {
      for (const part of type.types) {
        visitMembers(name, part);
      }
      return;
    }
    const [element] = checker.isArrayType(type) ? checker.getTypeArguments(type as ts.TypeReference) : [];
    if (element !== undefined) {
      visitMembers(name, element);
      return;
    }
    if (seen.has(type) || (type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection)) === 0) {
      return;
    }
    seen.add(type);
    for (const member of type.getProperties()) {
      if (isOwn(member)) {
        const own = checker.getTypeOfSymbol(member);
        const inner = `${name}.${member.name}`;
        add(inner, member, own.getCallSignatures().length > 0);
        visitMembers(inner, own);
      }
    }
  };

  for (const exported of checker.getExportsOfModule(module)) {
    const symbol =
      (exported.flags & ts.SymbolFlags.Alias) === 0 ? exported : checker.getAliasedSymbol(exported);
    const isValue = (symbol.flags & (ts.SymbolFlags.Function | ts.SymbolFlags.Variable)) !== 0;
    const type = isValue ? checker.getTypeOfSymbol(symbol) : checker.getDeclaredTypeOfSymbol(symbol);
    add(exported.name, symbol, isValue && type.getCallSignatures().length > 0);
    visitMembers(exported.name, type);
  }
  return found;
}
