// A chat by way of /v1/chat/completions, streamed. Nothing is kept but the token, until the tab is closed.

const $ = (id) => document.getElementById(id);
const said = []; // messages as the interface has them
let stopping = null; // of the answer that is being written

function headers() {
    const token = $('token').value.trim();
    return token ? { Authorization: `Bearer ${token}` } : {};
}

function tell(problem) {
    $('problem').textContent = problem;
    $('problem').hidden = !problem;
    if (problem && /Bearer|token of this service/.test(problem)) {
        $('settings').open = true;
        $('token').focus();
    }
}

// The words of a refusal, or of what stands in its place.
async function words(answer) {
    const text = await answer.text();
    try {
        return JSON.parse(text).error.message;
    } catch {
        return `${answer.status} ${answer.statusText}`;
    }
}

async function models() {
    const answer = await fetch('/v1/models', { headers: headers() });
    if (!answer.ok) throw new Error(await words(answer));
    const names = (await answer.json()).data.map((one) => one.id);
    const chosen = $('model').value;
    $('model').replaceChildren(...names.map((name) => new Option(name, name, false, name === chosen)));
    if (names.length === 0) throw new Error('No model is loaded yet: try again in a moment.');
    tell('');
}

function show(role, text) {
    const article = document.createElement('article');
    article.className = role;
    article.setAttribute('aria-label', role === 'user' ? 'You' : 'Model');
    article.textContent = text;
    $('log').querySelector('.none')?.remove();
    $('log').append(article);
    $('log').scrollTop = $('log').scrollHeight;
    return article;
}

// Each event's data, as they come.
async function* events(body) {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '';
    for (;;) {
        const { value, done } = await reader.read();
        if (done) return;
        const parts = (rest + value).split('\n\n');
        rest = parts.pop();
        for (const part of parts) if (part.startsWith('data: ')) yield part.slice(6);
    }
}

function request() {
    const system = $('system').value.trim();
    const body = {
        model: $('model').value,
        messages: [...(system ? [{ role: 'system', content: system }] : []), ...said],
        temperature: Number($('temperature').value),
        stream: true,
        stream_options: { include_usage: true },
    };
    if ($('tokens').value) body.max_tokens = Number($('tokens').value);
    return JSON.stringify(body);
}

async function write(article, signal) {
    const began = performance.now();
    const answer = await fetch('/v1/chat/completions', {
        method: 'POST',
        headers: { ...headers(), 'Content-Type': 'application/json' },
        body: request(),
        signal,
    });
    if (!answer.ok) throw new Error(await words(answer));
    for await (const data of events(answer.body)) {
        if (data === '[DONE]') break;
        const piece = JSON.parse(data);
        if (piece.error) throw new Error(piece.error.message);
        const low = $('log').scrollHeight - $('log').scrollTop - $('log').clientHeight < 40;
        article.textContent += piece.choices[0]?.delta?.content ?? '';
        if (low) $('log').scrollTop = $('log').scrollHeight;
        if (!piece.usage) continue;
        const { prompt_tokens: read, completion_tokens: written } = piece.usage;
        const seconds = (performance.now() - began) / 1000;
        $('facts').textContent = `${read} tokens read, ${written} written in ${seconds.toFixed(1)} s`;
    }
}

async function ask(text) {
    const article = (said.push({ role: 'user', content: text }), show('user', text), show('assistant', ''));
    let failed = '';
    stopping = new AbortController();
    article.classList.add('writing');
    $('send').hidden = true;
    $('stop').hidden = false;
    tell('');
    try {
        await write(article, stopping.signal);
    } catch (error) {
        if (error.name !== 'AbortError') failed = error.message;
    }
    stopping = null;
    article.classList.remove('writing');
    $('send').hidden = false;
    $('stop').hidden = true;
    // What has no answer is taken back, so that it can be asked again.
    if (article.textContent) {
        said.push({ role: 'assistant', content: article.textContent });
    } else {
        said.pop();
        if (failed) $('words').value ||= text;
        article.previousElementSibling.remove();
        article.remove();
    }
    tell(failed);
}

function fresh() {
    stopping?.abort();
    said.length = 0;
    const none = document.createElement('p');
    none.className = 'none';
    none.textContent = 'Nothing has been said.';
    $('log').replaceChildren(none);
    $('facts').textContent = '';
    tell('');
    $('words').focus();
}

$('ask').addEventListener('submit', (event) => {
    event.preventDefault();
    const text = $('words').value;
    if (stopping || !text.trim()) return;
    $('words').value = '';
    ask(text);
});
$('words').addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    $('ask').requestSubmit();
});
$('stop').addEventListener('click', () => stopping?.abort());
$('fresh').addEventListener('click', fresh);
$('token').addEventListener('change', () => {
    sessionStorage.setItem('token', $('token').value.trim());
    models().catch((error) => tell(error.message));
});

$('token').value = sessionStorage.getItem('token') ?? '';
fresh();
models().catch((error) => tell(error.message));
