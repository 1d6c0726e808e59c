/**
 * Finds methods of classes that are used without their object: TypeScript accepts `const { find } = keys`, `[keys.sweep]` and
 * `{ ...keys }`, and each fails when it runs.
 */
import { relative } from 'node:path';
import ts from 'typescript';

const { config } = ts.readConfigFile('tsconfig.json', ts.sys.readFile);
const { fileNames, options } = ts.parseJsonConfigFileContent(config, ts.sys, process.cwd());
const program = ts.createProgram(fileNames, options);
const checker = program.getTypeChecker();
const sources = program.getSourceFiles().filter(({ isDeclarationFile }) => !isDeclarationFile);
const found: string[] = [];

/** Names of all methods of classes, so that few types have to be computed. */
const names = new Set<string>();
function collect(node: ts.Node): void {
  if (ts.isMethodDeclaration(node) && ts.isClassLike(node.parent)) {
    names.add(node.name.getText());
  }
  ts.forEachChild(node, collect);
}
sources.forEach(collect);

/** Whether a symbol is a method that a class of this project declares. */
function isMethod(symbol: ts.Symbol | undefined): boolean {
  return (symbol?.declarations ?? []).some(
    (one) =>
      ts.isMethodDeclaration(one) &&
      ts.isClassDeclaration(one.parent) &&
      !one.getSourceFile().isDeclarationFile,
  );
}

/** Whether a node takes a method out of its object. */
function isUnbound(node: ts.Node): boolean {
  if (ts.isPropertyAccessExpression(node)) {
    const { parent } = node;
    const isCalled = ts.isCallExpression(parent) && parent.expression === node;
    const isBound = ts.isPropertyAccessExpression(parent) && parent.name.text === 'bind';
    const isReplaced = ts.isBinaryExpression(parent) && parent.left === node;
    return (
      !isCalled &&
      !isBound &&
      !isReplaced &&
      names.has(node.name.text) &&
      !ts.isTypeQueryNode(parent) &&
      isMethod(checker.getSymbolAtLocation(node.name))
    );
  }
  if (ts.isBindingElement(node) && ts.isObjectBindingPattern(node.parent)) {
    const name = (node.propertyName ?? node.name).getText();
    return names.has(name) && isMethod(checker.getTypeAtLocation(node.parent).getProperty(name));
  }
  return (
    ts.isSpreadAssignment(node) && checker.getTypeAtLocation(node.expression).getProperties().some(isMethod)
  );
}

function visit(node: ts.Node): void {
  if (isUnbound(node)) {
    const file = node.getSourceFile();
    const { line } = file.getLineAndCharacterOfPosition(node.getStart());
    found.push(`${relative(process.cwd(), file.fileName)}:${line + 1} ${node.getText()}`);
  }
  ts.forEachChild(node, visit);
}

sources.forEach(visit);
for (const line of found) {
  console.error(line);
}
process.exitCode = found.length > 0 ? 1 : 0;
