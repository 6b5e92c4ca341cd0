"""Custom Functions that several test modules use. May import: arraygrad."""

from arraygrad.autograd import Function


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x**2


class Scale(Function):
    """The second style, with a default."""

    @staticmethod
    def forward(x, factor=2.0):
        return x * factor

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.inputs = inputs
        ctx.factor = inputs[1]

    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor, None


class Product(Function):
    """Writes down which gradients it was asked for."""

    asked = ()

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        ctx.in_forward = ctx.needs_input_grad
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        Product.asked = ctx.needs_input_grad
        return (g * b if ctx.needs_input_grad[0] else None), (g * a if ctx.needs_input_grad[1] else None)


def two_outputs(name="Two", **methods):
    """A Function of one tensor with the results 2x and 3x; methods replace its own."""

    def forward(ctx, x):
        return x * 2.0, x * 3.0

    def backward(ctx, a, b):
        return a * 2.0 + b * 3.0

    methods = {"forward": forward, "backward": backward, **methods}
    return type(Function)(name, (Function,), {key: staticmethod(value) for key, value in methods.items()})
