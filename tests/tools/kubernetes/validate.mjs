// Objects of rendered manifests (standard input) against the Kubernetes OpenAPI schema. A kind of somebody else's
// (keda.sh) has no schema here and is only counted. A field that the schema does
// not know passes. Exit status: 0 all are valid, 1 otherwise.
import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';

const report = [];
let foreign = 0, valid = 0;
for (const document of parseAllDocuments(readFileSync(0, 'utf8'))) {
    const object = document.toJS();
    if (!object) continue;
    const [group, version] = object.apiVersion.includes('/') ? object.apiVersion.split('/') : ['', object.apiVersion];
    const name = `${object.kind} ${object.metadata?.name}`;
    if (group.includes('.') && !group.endsWith('.k8s.io')) {
        foreign++;
        continue;
    }
    try {
        const models = await import(`kubernetes-models/${group ? `${group}/` : ''}${version}`);
        if (!models[object.kind]) throw new Error(`no kind ${object.kind} in ${object.apiVersion}`);
        new models[object.kind](object).validate();
        valid++;
    } catch (error) {
        report.push(`${name}: ${error.message}`);
    }
}
for (const line of report) console.error(line);
console.log(`${valid} valid, ${report.length} wrong, ${foreign} of others`);
process.exit(report.length > 0 || valid === 0 ? 1 : 0);
