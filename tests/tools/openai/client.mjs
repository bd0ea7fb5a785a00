// The official client against a gateway: node client.mjs URL TOKEN MODEL. Prints what it got as JSON.
import OpenAI from 'openai';

const [, , baseURL, apiKey, model] = process.argv;
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
const out = {};

const models = [];
for await (const one of client.models.list()) models.push(one.id);
out.models = models;

const ask = { model, prompt: 'The ', max_tokens: 20, temperature: 0 };
const whole = await client.completions.create(ask);
out.text = whole.choices[0].text;
out.usage = whole.usage.total_tokens;
out.pieces = '';
for await (const piece of await client.completions.create({ ...ask, stream: true }))
    out.pieces += piece.choices[0].text;

const talk = { model, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 8, seed: 1 };
const said = await client.chat.completions.create(talk);
out.role = said.choices[0].message.role;
out.said = said.choices[0].message.content;
const stream = client.chat.completions.stream({ ...talk, stream_options: { include_usage: true } });
out.heard = await stream.finalContent();
out.written = (await stream.totalUsage()).completion_tokens;

// By default it asks for base64.
const inputs = { model, input: ['The ', 'The quick', 'The '] };
const vectors = (await client.embeddings.create(inputs)).data.map((one) => one.embedding);
const floats = await client.embeddings.create({ ...inputs, encoding_format: 'float' });
const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
out.same = dot(vectors[0], vectors[2]);
out.length = dot(vectors[1], vectors[1]);
out.other = dot(vectors[0], vectors[1]);
out.encoded = Math.max(...floats.data[1].embedding.map((x, i) => Math.abs(x - vectors[1][i])));

const refused = async (options) => {
    try {
        await client.completions.create(options);
    } catch (error) {
        return `${error.status} ${error.constructor.name} ${error.param}`;
    }
    return 'none';
};
out.wrong = await refused({ ...ask, temperature: 9 });
out.absent = await refused({ ...ask, model: 'absent' });
console.log(JSON.stringify(out));
