/** How large files, folders and functions may be, and how functions are written: the limits of docs/architecture.md. */
import { posix } from 'node:path';
import ts from 'typescript';
import { functionsOf, type Sources } from './source.ts';

const FILE_LINES_MAX = 400;
const FUNCTION_LINES_MAX = 70;
const FOLDER_FILES_MAX = 20;
const TEST_FOLDER_FILES_MAX = 40;
/** Written by a tool. */
const GENERATED = /^sdk\/api\.d\.ts$/;
const TESTS = /^test\//;

function findLongFiles([path, text]: readonly [string, string]): string[] {
  const lines = text.trimEnd().split('\n').length;
  return lines > FILE_LINES_MAX ? [`${path} has ${lines} lines, more than ${FILE_LINES_MAX}`] : [];
}

/** Functions without a name of their own are counted outside the tests alone, where they hold groups of tests. */
function findLongFunctions([path, text]: readonly [string, string]): string[] {
  return functionsOf(path, text)
    .filter(({ name, lines }) => lines > FUNCTION_LINES_MAX && !(name === 'closure' && TESTS.test(path)))
    .map(
      ({ name, line, lines }) =>
        `${path}:${line} ${name} has ${lines} lines, more than ${FUNCTION_LINES_MAX}`,
    );
}

/** An arrow with a type of its own may stay a constant: the type says more than a declaration can. */
function findArrowConstants([path, text]: readonly [string, string]): string[] {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  return file.statements
    .filter((statement) => ts.isVariableStatement(statement))
    .flatMap(({ declarationList }) => declarationList.declarations)
    .filter(({ type, initializer }) => type === undefined && initializer && ts.isArrowFunction(initializer))
    .map((node) => {
      const line = file.getLineAndCharacterOfPosition(node.getStart()).line + 1;
      return `${path}:${line} ${node.name.getText()} is an arrow: declare it as a function`;
    });
}

function findCrowdedFolders(paths: readonly string[]): string[] {
  return [...Map.groupBy(paths, (path) => posix.dirname(path))].flatMap(([folder, { length }]) => {
    const most = TESTS.test(`${folder}/`) ? TEST_FOLDER_FILES_MAX : FOLDER_FILES_MAX;
    return length > most ? [`${folder} has ${length} files, more than ${most}: group them by noun`] : [];
  });
}

/** What is over a limit, one readable line each. */
export function findExcess(sources: Sources): string[] {
  const written = [...sources].filter(([path]) => !GENERATED.test(path));
  return [
    ...findCrowdedFolders([...sources.keys()]),
    ...written.flatMap(findLongFiles),
    ...written.flatMap(findLongFunctions),
    ...written.flatMap(findArrowConstants),
  ];
}
