# SPDX-License-Identifier: BSD-2-Clause
"""Python code that stands still at known places: in each thread another shape of calls.

Stops first.  Then it prints the threads' frames as Python itself reports them, innermost first, and waits for the end
of its input:
  P number of the process
  T number of the thread
  F qualified name|file|line
  E
"""
import asyncio
import functools
import importlib
import os
import re
import signal
import sys
import tempfile
import threading
import types

R, W = os.pipe()
STANDING = []


def stand(*_):
    STANDING.append(1), os.read(R, 1)  # one line: a frame has it before and during the wait
    return 0


def nested():
    def inner(a, b=1, *c, d=2, **e):
        def innermost():
            return a, b, c, d, e, stand()
        return innermost()
    return (
        inner(1,
              2, 3,
              d=4, f=5)
    )


class Base:
    def __init__(self):
        self.work()

    def work(self):
        return (lambda x: self.value)(1)

    @property
    def value(self):
        return self.by_name

    def __getattr__(self, name):
        return self.of_class(name)

    @classmethod
    def of_class(cls, name):
        return cls.of_none(name)

    @staticmethod
    @functools.lru_cache
    def of_none(name):
        with Manager():
            return name


class Derived(Base):
    def __init__(self):
        super().__init__()


class Manager:
    def __enter__(self):
        try:
            raise KeyError
        except KeyError:
            stand()
        finally:
            pass

    def __exit__(self, *_):
        pass


def methods():
    return Derived()


def numbers():
    yield 1
    stand()
    yield 2


def delegated():
    yield from numbers()


def generators():
    for number in delegated():
        [n for n in (m + number for m in delegated())]


def callbacks():
    sorted([3, 1], key=lambda n: functools.reduce(
        lambda a, b: re.sub('x', lambda m: list(map(
            stand, [1]))[0], 'x'), [1, 2]))


def recursion(n):
    return recursion(n - 1) if n else stand()


def through_c(n):
    return max([n], key=lambda n: through_c(n - 1)) if n else stand()


async def awaited(n):
    if n:
        return await awaited(n - 1)
    return stand()


async def gathered():
    await asyncio.gather(awaited(3))


def coroutines():
    asyncio.run(gathered())


def compiled():
    lines = '\n' * 700
    source = f'''
def zahl_ß(f):
  {lines}
  return f(
{lines}
    1)
class Числа:
  def 数(self, f):
    def 𝔘(): return zahl_ß(f)
    return 𝔘()
'''
    names = {}
    exec(compile(source, '/tmp/\udcff\u00e9/файл.py', 'exec'), names)
    names['Числа']().数(stand)


def long_names():
    name = 'n' * 3000
    code = stand.__code__.replace(co_name=name, co_qualname='é' * 3000 + '.' + name, co_filename='/' + 'd' * 3000)
    types.FunctionType(code, globals())()


def long_code():
    body = ''.join(f'  a{n} = {n}\n' for n in range(20000))
    names = {'stand': stand}
    exec('def many():\n' + body + '  stand()\n' + body + 'many()', names)


def imported():
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + '/standing_module.py', 'w', encoding='utf-8') as f:
            f.write('import builtins\n\nclass Body:\n  builtins.stand()\n')
        sys.path.insert(0, folder)
        sys.modules['builtins'].stand = stand
        importlib.import_module('standing_module')


def finalizer():
    class Last:
        def __del__(self):
            stand()
    last = Last()
    del last


SHAPES = [nested, methods, generators, callbacks, functools.partial(recursion, 300), functools.partial(through_c, 40),
          coroutines, compiled, long_names, long_code, imported, finalizer]


def shown(text):
    """A text as it is in logs: a long one keeps its end, and control characters are none."""
    text = re.sub('[\x00-\x1f\x7f]', '?', text).encode('utf-8', 'surrogateescape')
    if len(text) > 1023:
        cut = len(text) - 1020
        while text[cut] & 0xc0 == 0x80:
            cut += 1
        text = b'...' + text[cut:]
    return text


def stop():
    os.write(1, b'P %d\n' % os.getpid())
    os.kill(os.getpid(), signal.SIGSTOP)


def report():
    frames = sys._current_frames()
    out = b''
    for thread in threading.enumerate():
        if thread is threading.current_thread():
            continue
        # After a fork the module still has the parent's number.
        out += b'T %d\n' % (os.getpid() if thread is threading.main_thread() else thread.native_id)
        frame = frames[thread.ident]
        while frame:
            out += b'F %s|%s|%d\n' % (shown(frame.f_code.co_qualname), shown(frame.f_code.co_filename), frame.f_lineno)
            frame = frame.f_back
    os.write(1, out + b'E\n')
    os.read(0, 1)
    os._exit(0)


def report_later():
    while not STANDING:
        pass
    report()


def main():
    sys.setrecursionlimit(5000)
    if sys.argv[1:] == ['fork']:
        if os.fork():
            os.wait()
            return
        stop()
        threading.Thread(target=report_later).start()
        nested()
    stop()
    for shape in SHAPES:
        before = len(STANDING)
        threading.Thread(target=shape, daemon=True).start()
        while len(STANDING) == before:
            pass
    report()


main()
